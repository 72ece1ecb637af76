//! How others reach the manager: Prometheus its metrics, the API server its webhooks.

use kubewright_runtime::webhook::{Configurations, Reach};
use serde_json::{Value, json};

use super::Place;

/// The Service of the metrics, and that of the webhooks if there are any.
pub(super) fn services(place: &Place<'_>) -> Vec<Value> {
    let mut services = vec![service(
        place,
        "controller-manager-metrics-service",
        &json!({ "name": "https", "port": 8443, "targetPort": 8443, "protocol": "TCP" }),
    )];
    if place.has_webhooks() {
        services.push(service(
            place,
            "webhook-service",
            &json!({ "port": 443, "targetPort": 9443, "protocol": "TCP" }),
        ));
    }
    services
}

fn service(place: &Place<'_>, name: &str, port: &Value) -> Value {
    let mut service = place.namespaced("v1", "Service", &place.name(name));
    service["spec"] = json!({ "ports": [port], "selector": place.selector() });
    service
}

/// The webhook configurations. Their caBundle is the manager's business, which makes its own certificates.
pub(super) fn webhooks(place: &Place<'_>) -> Vec<Value> {
    let reach = Reach::service(&place.settings.namespace, place.name("webhook-service"));
    let Configurations { mutating, validating } =
        Configurations::render(&place.operator.name, &place.operator.webhooks, &reach);
    let rendered = [
        mutating.map(|object| json!(object)),
        validating.map(|object| json!(object)),
    ];
    let labelled = rendered.into_iter().flatten().map(|mut object| {
        object["metadata"]["labels"] = place.labels();
        object
    });
    labelled.collect()
}
