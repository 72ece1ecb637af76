//! What mutating webhooks do to objects: order, patches, another round (A1, A4, A8, A9).

use serde_json::{Value, json};

use super::support::{CONFIG_MAPS, Cluster, allow, deny, patch, rules, webhook};

fn add(key: &str, value: &str) -> Value {
    json!([{ "op": "add", "path": format!("/data/{key}"), "value": value }])
}

#[tokio::test]
async fn webhooks_are_called_by_the_names_of_their_configurations_and_see_what_was_done_before() {
    let cluster = Cluster::new(|path, request| {
        let seen = request["object"]["data"].as_object().unwrap().len();
        patch(&add(path, &seen.to_string()))
    });
    cluster.configure("Mutating", "z", &[webhook("z.a", Value::Null)]).await;
    cluster
        .configure(
            "Mutating",
            "a",
            &[webhook("c.a", Value::Null), webhook("b.a", Value::Null)],
        )
        .await;
    let answer = cluster.create("x").await;
    assert_eq!(
        answer.body["data"],
        json!({ "a": "b", "c.a": "1", "b.a": "2", "z.a": "3" })
    );
    assert_eq!(cluster.called(), ["c.a", "b.a", "z.a"]);
}

#[tokio::test]
async fn a_webhook_is_called_again_if_another_changed_the_object_after_it() {
    let cluster = Cluster::new(|path, request| match path {
        "second.a" if request["object"]["data"].get("late").is_none() => patch(&add("late", "1")),
        _ => allow(),
    });
    let again = json!({ "reinvocationPolicy": "IfNeeded" });
    let webhooks = [webhook("first.a", again), webhook("second.a", Value::Null)];
    cluster.configure("Mutating", "c", &webhooks).await;
    cluster.create("x").await;
    assert_eq!(cluster.called(), ["first.a", "second.a", "first.a"]);
    cluster
        .configure(
            "Mutating",
            "c",
            &[webhook("first.a", Value::Null), webhook("second.a", Value::Null)],
        )
        .await;
    cluster.create("y").await;
    assert_eq!(cluster.called(), ["first.a", "second.a"]);
}

#[tokio::test]
async fn what_webhooks_add_is_completed_as_if_the_client_had_sent_it() {
    let cluster = Cluster::new(|_, _| {
        patch(&json!([
            { "op": "add", "path": "/spec/containers/-", "value": { "name": "added", "image": "i" } },
            { "op": "remove", "path": "/spec/tolerations" },
        ]))
    });
    let other = json!({ "rules": rules(&["CREATE"], "", &["pods"]) });
    cluster.configure("Mutating", "c", &[webhook("m.a", other)]).await;
    let pod = json!({ "metadata": { "name": "p" }, "spec": { "containers": [{ "name": "c", "image": "i" }] } });
    let answer = cluster.send("POST", "/api/v1/namespaces/default/pods", pod).await;
    assert_eq!(answer.code, 201, "{answer:?}");
    let spec = &answer.body["spec"];
    assert_eq!(spec["containers"][1]["terminationMessagePath"], "/dev/termination-log");
    assert_eq!(spec["tolerations"].as_array().unwrap().len(), 2, "plugins run again");
}

#[tokio::test]
async fn a_generated_name_is_known_only_to_validating_webhooks() {
    let cluster = Cluster::new(|_, _| allow());
    cluster.configure("Mutating", "m", &[webhook("m.a", Value::Null)]).await;
    cluster
        .configure("Validating", "v", &[webhook("v.a", Value::Null)])
        .await;
    let object = json!({ "metadata": { "generateName": "g-" } });
    let answer = cluster.send("POST", CONFIG_MAPS, object).await;
    let asked = cluster.asked();
    assert_eq!(asked[0].1.get("name"), None);
    assert_eq!(asked[0].1["object"]["metadata"].get("uid"), None);
    assert_eq!(asked[1].1["name"], answer.body["metadata"]["name"]);
    assert_eq!(asked[1].1["object"]["metadata"]["uid"], answer.body["metadata"]["uid"]);
}

#[tokio::test]
async fn a_deletion_has_only_an_old_object_and_cannot_be_patched() {
    let cluster = Cluster::new(|path, _| match path {
        "m.a" => patch(&json!([{ "op": "add", "path": "/metadata/labels", "value": {} }])),
        _ => deny("keep it"),
    });
    cluster.create("x").await;
    let other = json!({ "rules": rules(&["DELETE"], "", &["configmaps"]) });
    cluster
        .configure("Mutating", "m", &[webhook("m.a", other.clone())])
        .await;
    let path = format!("{CONFIG_MAPS}/x");
    let answer = cluster.send("DELETE", &path, Value::Null).await;
    assert_eq!(
        (answer.code, answer.message()),
        (
            500,
            "Internal error occurred: admission webhook \"m.a.example.com\" attempted to modify the object, which is \
             not supported for this operation"
        )
    );
    let asked = cluster.asked();
    assert_eq!(asked[0].1["object"], Value::Null);
    assert_eq!(asked[0].1["oldObject"]["data"], json!({ "a": "b" }));
    assert_eq!(asked[0].1["operation"], "DELETE");
    cluster.configure("Mutating", "m", &[]).await;
    cluster.configure("Validating", "v", &[webhook("v.a", other)]).await;
    assert_eq!(cluster.send("DELETE", &path, Value::Null).await.code, 400);
    let answer = cluster.send("DELETE", CONFIG_MAPS, Value::Null).await;
    assert_eq!(answer.code, 400, "a collection is asked about object by object");
}

#[tokio::test]
async fn fields_that_a_schema_does_not_have_are_shown_and_not_stored() {
    let cluster = Cluster::new(|_, _| patch(&json!([{ "op": "add", "path": "/spec/unknown", "value": 1 }])));
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": "widgets.admission.example.com" },
        "spec": { "group": "admission.example.com", "scope": "Namespaced",
            "names": { "plural": "widgets", "kind": "Widget" },
            "versions": [{ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": {
                "type": "object", "properties": { "spec": { "type": "object", "properties": {
                    "size": { "type": "integer", "default": 3 } } } } } } }] },
    });
    let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    assert_eq!(cluster.send("POST", definitions, definition).await.code, 201);
    let other = json!({ "rules": rules(&["CREATE"], "admission.example.com", &["widgets"]) });
    cluster.configure("Mutating", "m", &[webhook("m.a", other)]).await;
    let widget =
        json!({ "apiVersion": "admission.example.com/v1", "kind": "Widget", "metadata": { "name": "w" }, "spec": {} });
    let path = "/apis/admission.example.com/v1/namespaces/default/widgets";
    let answer = cluster.send("POST", path, widget).await;
    assert_eq!(answer.code, 201, "{answer:?}");
    assert_eq!(answer.body["spec"], json!({ "size": 3 }));
}

#[tokio::test]
async fn a_webhook_with_side_effects_takes_part_in_no_dry_run() {
    let cluster = Cluster::new(|_, _| allow());
    let unsure = json!({ "sideEffects": "Unknown" });
    // Only a configuration of the past has side effects; it is kept and may be changed.
    cluster.configure("Mutating", "m", &[webhook("m.a", Value::Null)]).await;
    let path = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/m";
    let patched = json!([{ "op": "replace", "path": "/webhooks/0/sideEffects", "value": unsure["sideEffects"] }]);
    let refused = cluster
        .send_as("PATCH", path, "application/json-patch+json", patched)
        .await;
    assert_eq!(refused.code, 422);
    let dry = format!("{CONFIG_MAPS}?dryRun=All");
    let object = json!({ "metadata": { "name": "x" } });
    assert_eq!(cluster.send("POST", &dry, object).await.code, 201);
    assert_eq!(cluster.asked()[0].1["dryRun"], true);
}

#[tokio::test]
async fn owners_that_a_webhook_breaks_are_put_back() {
    let cluster = Cluster::new(|_, _| {
        patch(&json!([{ "op": "replace", "path": "/metadata/managedFields/0/operation", "value": "Frob" }]))
    });
    cluster.configure("Mutating", "m", &[webhook("m.a", Value::Null)]).await;
    let answer = cluster.create("x").await;
    assert_eq!(answer.body["metadata"]["managedFields"][0]["operation"], "Update");
    assert_eq!(
        answer.warnings,
        [
            "299 - \".metadata.managedFields was in an invalid state after admission; this could be caused by an \
          outdated mutating admission controller; please fix your requests: operation must be `Apply` or `Update`\""
        ]
    );
}
