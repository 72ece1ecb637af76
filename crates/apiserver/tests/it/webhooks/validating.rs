//! What validating webhooks decide, and what they tell (A1, A4, A7).

use serde_json::{Value, json};

use super::support::{Cluster, allow, config_map, deny, rules, webhook};

#[tokio::test]
async fn the_first_denial_in_order_counts_and_all_are_asked() {
    let cluster = Cluster::new(|path, _| if path == "ok.a" { allow() } else { deny(path) });
    cluster
        .configure(
            "Validating",
            "c",
            &[
                webhook("ok.a", Value::Null),
                webhook("one.a", Value::Null),
                webhook("two.a", Value::Null),
            ],
        )
        .await;
    let answer = cluster.create("x").await;
    assert_eq!(
        answer.message(),
        r#"admission webhook "one.a.example.com" denied the request: one.a"#
    );
    assert_eq!(cluster.called().len(), 3);
}

#[tokio::test]
async fn a_denial_is_answered_as_the_webhook_words_it() {
    let status = json!({ "code": 422, "message": "m", "reason": "Invalid", "details": {
        "name": "n", "kind": "k", "causes": [{ "reason": "R", "message": "mm", "field": "spec.a" }] } });
    let given = status.clone();
    let cluster = Cluster::new(move |_, _| json!({ "allowed": false, "status": given, "warnings": ["careful"] }));
    cluster
        .configure("Validating", "c", &[webhook("v.a", Value::Null)])
        .await;
    let answer = cluster.create("x").await;
    assert_eq!(answer.code, 422);
    assert_eq!(answer.warnings, ["299 - \"careful\""]);
    assert_eq!(
        answer.body,
        json!({ "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "code": 422,
            "message": "admission webhook \"v.a.example.com\" denied the request: m", "reason": "Invalid",
            "details": status["details"] })
    );
}

#[tokio::test]
async fn warnings_are_told_once_each_and_cut_when_they_are_too_long_together() {
    let cluster = Cluster::new(|path, _| match path {
        "few.a" => json!({ "allowed": true, "warnings": ["one", "two", "one", "", "tab\tbed"] }),
        _ => json!({ "allowed": true, "warnings": ["a".repeat(300), "b".repeat(4000)] }),
    });
    cluster
        .configure("Validating", "c", &[webhook("few.a", Value::Null)])
        .await;
    assert_eq!(cluster.create("x").await.warnings, ["299 - \"one\"", "299 - \"two\""]);
    cluster
        .configure("Validating", "c", &[webhook("many.a", Value::Null)])
        .await;
    let told = cluster.create("y").await.warnings;
    assert_eq!(
        told,
        [
            format!("299 - \"{}\"", "a".repeat(256)),
            format!("299 - \"{}\"", "b".repeat(256))
        ]
    );
}

#[tokio::test]
async fn what_webhooks_note_is_in_the_audit_trail() {
    let cluster = Cluster::new(|path, _| match path {
        "v.a" => json!({ "allowed": true, "auditAnnotations": { "why": "because" } }),
        _ => json!({ "allowed": "perhaps" }),
    });
    let ignored = json!({ "failurePolicy": "Ignore" });
    cluster
        .configure(
            "Validating",
            "v",
            &[webhook("v.a", Value::Null), webhook("broken.a", ignored)],
        )
        .await;
    cluster.configure("Mutating", "m", &[webhook("v.a", Value::Null)]).await;
    assert_eq!(cluster.create("x").await.code, 201);
    let events = cluster
        .server
        .audit()
        .verb("create")
        .resource("", "configmaps")
        .events();
    let notes = format!("{:?}", events.last().unwrap());
    for wanted in [
        "v.a.example.com/why",
        "because",
        "failed-open.validating.webhook.admission.k8s.io/round_0_index_1",
        "mutation.webhook.admission.k8s.io/round_0_index_0",
    ] {
        assert!(notes.contains(wanted), "{wanted} in {notes}");
    }
}

#[tokio::test]
async fn scale_eviction_binding_and_token_are_asked_about_as_what_they_are() {
    let cluster = Cluster::new(|_, request| deny(request["kind"]["kind"].as_str().unwrap()));
    let pod = json!({ "metadata": { "name": "p" }, "spec": { "containers": [{ "name": "c", "image": "i" }] } });
    let core = "/api/v1/namespaces/default";
    cluster.send("POST", &format!("{core}/pods"), pod).await;
    let account = json!({ "metadata": { "name": "sa" } });
    cluster.send("POST", &format!("{core}/serviceaccounts"), account).await;
    let deployments = "/apis/apps/v1/namespaces/default/deployments";
    let deployment = json!({ "metadata": { "name": "d" }, "spec": { "selector": { "matchLabels": { "a": "b" } },
        "template": { "metadata": { "labels": { "a": "b" } }, "spec": { "containers": [{ "name": "c", "image": "i" }] } } } });
    assert_eq!(cluster.send("POST", deployments, deployment).await.code, 201);
    let other = json!({ "rules": rules(&["*"], "*", &["*/*"]) });
    cluster.configure("Validating", "c", &[webhook("v.a", other)]).await;
    for (path, body, kind, subresource) in [
        (
            format!("{core}/pods/p/eviction"),
            json!({ "metadata": { "name": "p" } }),
            "Eviction",
            "eviction",
        ),
        (
            format!("{core}/pods/p/binding"),
            json!({ "metadata": { "name": "p" }, "target": { "kind": "Node", "name": "n" } }),
            "Binding",
            "binding",
        ),
        (
            format!("{core}/serviceaccounts/sa/token"),
            json!({ "spec": {} }),
            "TokenRequest",
            "token",
        ),
        (
            format!("{core}/pods/p/exec?command=sh"),
            Value::Null,
            "PodExecOptions",
            "exec",
        ),
    ] {
        let answer = cluster.send("POST", &path, body).await;
        assert!(
            answer.message().ends_with(&format!("denied the request: {kind}")),
            "{answer:?}"
        );
        assert_eq!(cluster.asked()[0].1["subResource"], subresource);
    }
    let scale = json!({ "metadata": { "name": "d" }, "spec": { "replicas": 3 } });
    let answer = cluster.send("PUT", &format!("{deployments}/d/scale"), scale).await;
    assert!(answer.message().ends_with("denied the request: Scale"), "{answer:?}");
    let asked = cluster.asked();
    assert_eq!(asked[0].1["object"]["spec"]["replicas"], 3);
    assert_eq!(asked[0].1["oldObject"]["spec"]["replicas"], 1);
    let answer = cluster
        .send("POST", &format!("{core}/configmaps"), config_map("x"))
        .await;
    assert!(
        answer.message().ends_with("denied the request: ConfigMap"),
        "{answer:?}"
    );
}
