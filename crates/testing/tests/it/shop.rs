//! A second small operator: every `ConfigMap` labelled `shop` gets a Deployment, and says how many of its Pods are ready.

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::ConfigMap;
use kubewright_runtime::client::Patch;
use kubewright_runtime::controller::{Action, Controller, Failure, Request};
use kubewright_runtime::operator::{Operator, Rule};
use serde_json::json;

/// A shop with so many Pods.
pub(crate) fn sample(replicas: u32) -> String {
    format!(
        "{{apiVersion: v1, kind: ConfigMap, metadata: {{name: bakery, labels: {{shop: '{replicas}'}}}}, data: {{image: nginx}}}}"
    )
}

/// The Deployment of a shop.
fn deployment(map: &ConfigMap, replicas: u32) -> Option<Deployment> {
    let (name, data) = (map.metadata.name.as_ref()?, map.data.clone().unwrap_or_default());
    let owner = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "name": name, "uid": map.metadata.uid, "controller": true,
        "blockOwnerDeletion": true,
    });
    let wanted = json!({
        "metadata": { "name": name, "namespace": map.metadata.namespace, "ownerReferences": [owner] },
        "spec": {
            "replicas": replicas, "selector": { "matchLabels": { "app": name } },
            "template": {
                "metadata": { "labels": { "app": name }, "annotations": data.get("script").map(|script| json!({
                    "kubewright.dev/image-error": script,
                })) },
                "spec": { "containers": [{ "name": "web", "image": data.get("image") }] },
            },
        },
    });
    serde_json::from_value(wanted).ok()
}

pub(crate) fn operator() -> Operator {
    let controller = Controller::of::<ConfigMap>()
        .owns::<Deployment>()
        .reconcile_with(|context| {
            let client = context.client();
            move |request: Request| {
                let client = client.clone();
                async move {
                    let Some(map) = client.get_opt::<ConfigMap>(&request).await? else {
                        return Ok(Action::done());
                    };
                    let labels = map.metadata.labels.clone().unwrap_or_default();
                    let Some(replicas) = labels.get("shop").and_then(|number| number.parse().ok()) else {
                        return Ok(Action::done());
                    };
                    let wanted =
                        deployment(&map, replicas).ok_or_else(|| Failure::message("no shop can be made of it"))?;
                    let applied = client.apply(&wanted).await?.object;
                    let ready = applied.status.and_then(|status| status.ready_replicas).unwrap_or(0);
                    let said = map.data.as_ref().and_then(|data| data.get("open").cloned());
                    if said != Some(ready.to_string()) {
                        let patch = Patch::Merge(json!({ "data": { "open": ready.to_string() } }));
                        client.patch::<ConfigMap>(&request, &patch).await?;
                    }
                    Ok::<_, Failure>(Action::done())
                }
            }
        });
    Operator::new("shop")
        .controller(controller)
        .rule(Rule::new([""], ["configmaps"], ["patch"]))
        .rule(Rule::new(["apps"], ["deployments"], ["create", "patch"]))
}
