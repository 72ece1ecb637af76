//! What has to be taken out of an object before it can be applied: what local runs and managers wrote into it under names of
//! their own would else stay beside what is applied, and the server refuses the mixture.

use serde_json::{Map, Value, json};

use super::reference::Reference;

/// Holds what was there before a local run.
const LOCAL_RUN: &str = "kubewright.dev/local-run";

/// What the webhook of a definition is called there.
pub(super) const CONVERSION: &str = "conversion";

/// The JSON patch that makes an object fit for being applied over; `None` if it is.
pub(super) fn patch(reference: &Reference, live: &Value, wanted: &Value) -> Option<Value> {
    let mut operations = Vec::new();
    if reference.is_webhooks() {
        restore(live, &mut operations);
        remove_webhooks(live, wanted, &mut operations);
    } else if reference.is_definition() {
        restore(live, &mut operations);
        remove_conversion(live, wanted, &mut operations);
    }
    if operations.is_empty() {
        return None;
    }
    // Only if it still is what was looked at.
    let version = &live["metadata"]["resourceVersion"];
    operations.insert(
        0,
        json!({ "op": "test", "path": "/metadata/resourceVersion", "value": version }),
    );
    Some(Value::Array(operations))
}

/// Whether the webhooks of an object point to a run on a developer's machine.
pub fn is_redirected(live: &Value) -> bool {
    live["metadata"]["annotations"].get(LOCAL_RUN).is_some()
}

/// The Service at which a webhook of an object is called, or was before a run on somebody's machine. The webhook of a definition
/// is called `conversion`.
pub(super) fn service(live: &Value, webhook: &str) -> Option<Value> {
    let here = if webhook == CONVERSION {
        &live["spec"]["conversion"]["webhook"]
    } else {
        listed(live).find(|here| here["name"] == webhook)?
    };
    let before = &saved(live)["webhooks"][webhook];
    [here, before]
        .into_iter()
        .map(|webhook| &webhook["clientConfig"]["service"])
        .find(|service| service.is_object())
        .cloned()
}

/// What was there before a local run.
fn saved(live: &Value) -> Value {
    let annotation = live["metadata"]["annotations"][LOCAL_RUN].as_str();
    serde_json::from_str(annotation.unwrap_or_default()).unwrap_or_default()
}

/// A local run calls webhooks by URL, which cannot stand beside the Service that is applied. The run, if it still lives, takes
/// them again.
fn restore(live: &Value, operations: &mut Vec<Value>) {
    if !is_redirected(live) {
        return;
    }
    let saved = saved(live);
    let webhooks = live["webhooks"].as_array().into_iter().flatten().enumerate();
    for (at, webhook) in webhooks {
        let before = &saved["webhooks"][webhook["name"].as_str().unwrap_or_default()];
        set_fields(&format!("/webhooks/{at}"), webhook, before.as_object(), operations);
    }
    let conversion = &live["spec"]["conversion"]["webhook"];
    if conversion.is_object() {
        let before = saved["webhooks"][CONVERSION].as_object();
        set_fields("/spec/conversion/webhook", conversion, before, operations);
    }
    for (name, value) in saved["annotations"].as_object().into_iter().flatten() {
        operations.push(json!({ "op": "add", "path": annotation_path(name), "value": value }));
    }
    operations.push(json!({ "op": "remove", "path": annotation_path(LOCAL_RUN) }));
}

/// Gives a webhook the fields it had. Without knowing them, it loses its address, which is applied anew.
fn set_fields(path: &str, webhook: &Value, before: Option<&Map<String, Value>>, operations: &mut Vec<Value>) {
    for field in ["clientConfig", "failurePolicy", "timeoutSeconds"] {
        let path = format!("{path}/{field}");
        match before.and_then(|before| before.get(field)) {
            Some(value) if webhook.get(field) != Some(value) => {
                operations.push(json!({ "op": "add", "path": path, "value": value }));
            }
            None if before.is_some() && webhook.get(field).is_some() => {
                operations.push(json!({ "op": "remove", "path": path }));
            }
            _ => {}
        }
    }
}

/// A webhook that is no longer applied would live on by the fields that others own in it, such as its caBundle.
fn remove_webhooks(live: &Value, wanted: &Value, operations: &mut Vec<Value>) {
    let names: Vec<&str> = listed(wanted).filter_map(|webhook| webhook["name"].as_str()).collect();
    let gone = listed(live)
        .enumerate()
        .filter(|(_, webhook)| webhook["name"].as_str().is_none_or(|name| !names.contains(&name)))
        .map(|(at, _)| at);
    // From the end, so that positions stay what they are.
    for at in gone.collect::<Vec<_>>().into_iter().rev() {
        operations.push(json!({ "op": "remove", "path": format!("/webhooks/{at}") }));
    }
}

fn listed(object: &Value) -> impl Iterator<Item = &Value> {
    object["webhooks"].as_array().into_iter().flatten()
}

/// The same for the webhook of a definition that is no longer converted.
fn remove_conversion(live: &Value, wanted: &Value, operations: &mut Vec<Value>) {
    let converts = wanted["spec"]["conversion"]["strategy"] == "Webhook";
    if !converts && live["spec"]["conversion"]["webhook"].is_object() {
        operations.push(json!({ "op": "add", "path": "/spec/conversion", "value": { "strategy": "None" } }));
    }
}

fn annotation_path(name: &str) -> String {
    format!("/metadata/annotations/{}", name.replace('~', "~0").replace('/', "~1"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn webhooks(names: &[&str]) -> Value {
        let webhooks: Vec<Value> = names.iter().map(|name| json!({ "name": name })).collect();
        json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration",
            "metadata": { "name": "shop", "resourceVersion": "7" },
            "webhooks": webhooks,
        })
    }

    fn prepared(live: &Value, wanted: &Value) -> Option<Value> {
        patch(&Reference::of(live).unwrap(), live, wanted)
    }

    #[test]
    fn an_object_nobody_touched_needs_nothing() {
        assert_eq!(prepared(&webhooks(&["a", "b"]), &webhooks(&["b", "a"])), None);
    }

    #[test]
    fn webhooks_that_are_no_longer_applied_are_removed_from_the_end() {
        let patch = prepared(&webhooks(&["a", "b", "c"]), &webhooks(&["b"])).unwrap();
        assert_eq!(
            patch,
            json!([
                { "op": "test", "path": "/metadata/resourceVersion", "value": "7" },
                { "op": "remove", "path": "/webhooks/2" },
                { "op": "remove", "path": "/webhooks/0" },
            ])
        );
    }

    #[test]
    fn what_a_local_run_redirected_is_as_before() {
        let mut live = webhooks(&["a"]);
        live["webhooks"][0]["clientConfig"] = json!({ "url": "https://me:9443/x", "caBundle": "eA==" });
        live["webhooks"][0]["failurePolicy"] = "Ignore".into();
        live["webhooks"][0]["timeoutSeconds"] = 3.into();
        let before = json!({ "clientConfig": { "service": { "name": "s" } }, "failurePolicy": "Fail" });
        let saved = json!({ "holder": "h", "webhooks": { "a": before } }).to_string();
        live["metadata"]["annotations"] = json!({ LOCAL_RUN: saved });
        assert!(is_redirected(&live));
        assert_eq!(
            prepared(&live, &webhooks(&["a"])).unwrap(),
            json!([
                { "op": "test", "path": "/metadata/resourceVersion", "value": "7" },
                { "op": "add", "path": "/webhooks/0/clientConfig", "value": { "service": { "name": "s" } } },
                { "op": "add", "path": "/webhooks/0/failurePolicy", "value": "Fail" },
                { "op": "remove", "path": "/webhooks/0/timeoutSeconds" },
                { "op": "remove", "path": "/metadata/annotations/kubewright.dev~1local-run" },
            ])
        );
    }

    #[test]
    fn a_definition_that_is_no_longer_converted_loses_its_webhook() {
        let mut live = json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": { "name": "a.b.c", "resourceVersion": "7" },
            "spec": { "conversion": { "strategy": "Webhook", "webhook": { "clientConfig": {} } } },
        });
        let wanted = json!({ "spec": {} });
        let patch = prepared(&live, &wanted).unwrap();
        assert_eq!(patch[1]["value"], json!({ "strategy": "None" }));
        assert_eq!(prepared(&live, &live.clone()), None);
        live["spec"]["conversion"] = json!({ "strategy": "None" });
        assert_eq!(prepared(&live, &wanted), None);
    }
}
