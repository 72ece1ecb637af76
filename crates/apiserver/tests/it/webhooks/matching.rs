//! Which webhooks are asked about which requests, and from when on (A6, A10, A11).

use serde_json::{Value, json};

use super::support::{CONFIG_MAPS, Cluster, allow, config_map, deny, rules, send, webhook};

const VALIDATING: &str = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";

#[tokio::test]
async fn a_configuration_takes_effect_when_it_is_written_and_ends_when_it_is_deleted() {
    let cluster = Cluster::new(|_, _| deny("no"));
    assert_eq!(cluster.create("before").await.code, 201);
    cluster
        .configure("Validating", "c", &[webhook("v.a", Value::Null)])
        .await;
    let denied = cluster.create("x").await;
    assert_eq!(denied.code, 400);
    assert_eq!(
        denied.message(),
        r#"admission webhook "v.a.example.com" denied the request: no"#
    );
    let elsewhere = json!([{ "op": "replace", "path": "/webhooks/0/rules/0/resources", "value": ["secrets"] }]);
    let path = format!("{VALIDATING}/c");
    let patched = cluster
        .send_as("PATCH", &path, "application/json-patch+json", elsewhere)
        .await;
    assert_eq!(patched.code, 200, "{patched:?}");
    assert_eq!(cluster.create("y").await.code, 201);
    cluster
        .configure("Validating", "c", &[webhook("v.a", Value::Null)])
        .await;
    assert_eq!(cluster.create("z").await.code, 400);
    cluster.send("DELETE", &path, Value::Null).await;
    assert_eq!(cluster.create("z").await.code, 201);
}

#[tokio::test]
async fn a_fork_has_the_webhooks_of_its_server_and_goes_its_own_way() {
    let cluster = Cluster::new(|_, _| deny("no"));
    cluster
        .configure("Validating", "c", &[webhook("v.a", Value::Null)])
        .await;
    let fork = cluster.server.fork();
    let json = "application/json";
    assert_eq!(send(&fork, "POST", CONFIG_MAPS, json, config_map("x")).await.code, 400);
    send(&fork, "DELETE", &format!("{VALIDATING}/c"), json, Value::Null).await;
    assert_eq!(send(&fork, "POST", CONFIG_MAPS, json, config_map("x")).await.code, 201);
    assert_eq!(cluster.create("x").await.code, 400);
}

#[tokio::test]
async fn no_webhook_is_asked_about_webhooks() {
    let cluster = Cluster::new(|_, _| deny("mine"));
    let everything = json!({ "rules": rules(&["*"], "*", &["*/*"]) });
    cluster
        .configure("Mutating", "m", &[webhook("m.a", everything.clone())])
        .await;
    cluster
        .configure("Validating", "v", &[webhook("v.a", everything)])
        .await;
    assert!(cluster.asked().is_empty());
    assert_eq!(cluster.create("x").await.code, 400);
    let deleted = cluster.send("DELETE", &format!("{VALIDATING}/v"), Value::Null).await;
    assert_eq!(deleted.code, 200);
}

#[tokio::test]
async fn a_namespace_is_selected_by_the_labels_it_is_to_have() {
    let cluster = Cluster::new(|_, _| deny("no"));
    let other = json!({
        "rules": rules(&["*"], "", &["namespaces", "configmaps"]),
        "namespaceSelector": { "matchLabels": { "guarded": "yes" } },
    });
    cluster.configure("Validating", "c", &[webhook("v.a", other)]).await;
    let namespace = |labels: Value| json!({ "metadata": { "name": "n", "labels": labels } });
    let path = "/api/v1/namespaces";
    assert_eq!(
        cluster
            .send("POST", path, namespace(json!({ "guarded": "yes" })))
            .await
            .code,
        400
    );
    assert_eq!(
        cluster
            .send("POST", path, namespace(json!({ "guarded": "no" })))
            .await
            .code,
        201
    );
    assert_eq!(
        cluster
            .send("POST", "/api/v1/namespaces/n/configmaps", config_map("x"))
            .await
            .code,
        201
    );
    let labels = json!({ "metadata": { "labels": { "guarded": "yes" } } });
    let patched = cluster
        .send_as("PATCH", "/api/v1/namespaces/n", "application/merge-patch+json", labels)
        .await;
    assert_eq!(patched.code, 400, "{patched:?}");
}

#[tokio::test]
async fn a_version_is_shown_in_the_one_that_the_rule_names() {
    let cluster = Cluster::new(|_, _| allow());
    let rules = json!([{ "operations": ["CREATE"], "apiGroups": ["autoscaling"], "apiVersions": ["v2"],
        "resources": ["horizontalpodautoscalers"] }]);
    cluster
        .configure("Validating", "c", &[webhook("v.a", json!({ "rules": rules }))])
        .await;
    let scaler = json!({ "metadata": { "name": "h" }, "spec": {
        "maxReplicas": 3, "targetCPUUtilizationPercentage": 50,
        "scaleTargetRef": { "apiVersion": "apps/v1", "kind": "Deployment", "name": "d" },
    } });
    let path = "/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers";
    assert_eq!(cluster.send("POST", path, scaler).await.code, 201);
    let asked = cluster.asked();
    let (_, request) = &asked[0];
    assert_eq!(request["kind"]["version"], "v2");
    assert_eq!(request["requestKind"]["version"], "v1");
    assert_eq!(request["object"]["apiVersion"], "autoscaling/v2");
    assert_eq!(
        request["object"]["spec"]["metrics"][0]["resource"]["target"]["averageUtilization"],
        50
    );
}

#[tokio::test]
async fn conditions_see_who_asks_and_may_ask_for_rights() {
    let cluster = Cluster::new(|_, _| deny("asked"));
    for (expression, asked) in [
        ("request.userInfo.username == 'admin'", true),
        ("request.userInfo.username == 'nobody'", false),
        ("authorizer.group('').resource('pods').check('get').allowed()", true),
        (
            "authorizer.serviceAccount('default', 'x').group('').resource('pods').check('get').allowed()",
            false,
        ),
        ("object.data.a == 'b' && request.operation == 'CREATE'", true),
    ] {
        let other = json!({ "matchConditions": [{ "name": "c", "expression": expression }] });
        cluster.configure("Validating", "c", &[webhook("v.a", other)]).await;
        let code = cluster.create(&format!("x{}", u8::from(asked))).await.code;
        assert_eq!(code == 400, asked, "{expression}");
        cluster
            .send("DELETE", &format!("{CONFIG_MAPS}/x{}", u8::from(asked)), Value::Null)
            .await;
    }
    let other = json!({ "matchConditions": [{ "name": "c", "expression": "object.data.nope == 'x'" }] });
    cluster.configure("Validating", "c", &[webhook("v.a", other)]).await;
    let answer = cluster.create("y").await;
    assert_eq!(
        (answer.code, answer.message()),
        (
            403,
            r#"configmaps "y" is forbidden: expression 'object.data.nope == 'x'' resulted in error: no such key: nope"#
        )
    );
}
