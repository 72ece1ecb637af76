//! Certificates from cert-manager: who issues them, for which names, and who is told to trust them.

use serde_json::{Value, json};

use super::network::{METRICS_SERVICE, WEBHOOK_SERVICE};
use super::{Part, Place};

const API: &str = "cert-manager.io/v1";
const ISSUER: &str = "selfsigned-issuer";
/// The certificate of the webhooks.
const SERVING: &str = "serving-cert";
/// Its Secret.
pub(super) const SERVING_SECRET: &str = "webhook-server-cert";
/// The Secret of the metrics' certificate.
pub(super) const METRICS_SECRET: &str = "metrics-server-cert";

/// `config/certmanager`, which is there for whoever switches to it.
pub(super) fn parts(place: &Place<'_>) -> Vec<Part> {
    let mut issuer = place.namespaced(API, "Issuer", ISSUER);
    issuer["spec"] = json!({ "selfSigned": {} });
    let mut parts = vec![Part::of("certmanager/issuer.yaml", &issuer)];
    if place.has_webhooks() {
        parts.push(certificate(place, "webhook", SERVING, WEBHOOK_SERVICE, SERVING_SECRET));
    }
    parts.push(certificate(
        place,
        "metrics",
        "metrics-certs",
        METRICS_SERVICE,
        METRICS_SECRET,
    ));
    let listed: Vec<&str> = parts
        .iter()
        .filter_map(|part| part.path.strip_prefix("config/certmanager/"))
        .collect();
    let kustomization = json!({ "resources": listed, "configurations": ["kustomizeconfig.yaml"] });
    let references = json!({ "nameReference": [{
        "kind": "Issuer",
        "group": "cert-manager.io",
        "fieldSpecs": [{ "kind": "Certificate", "group": "cert-manager.io", "path": "spec/issuerRef/name" }],
    }]});
    parts.push(Part::of("certmanager/kustomization.yaml", &kustomization));
    parts.push(Part::of("certmanager/kustomizeconfig.yaml", &references));
    parts
}

fn certificate(place: &Place<'_>, of: &str, name: &str, service: &str, secret: &str) -> Part {
    let host = host(place, service);
    let mut certificate = place.namespaced(API, "Certificate", name);
    certificate["spec"] = json!({
        "dnsNames": [host, format!("{host}.cluster.local")],
        "issuerRef": { "kind": "Issuer", "name": ISSUER },
        "secretName": secret,
    });
    Part::of(format!("certmanager/certificate-{of}.yaml"), &certificate)
}

/// The name of a Service within the cluster.
fn host(place: &Place<'_>, service: &str) -> String {
    format!("{}.{}.svc", place.full_name(service), place.settings.namespace)
}

/// Tells cert-manager to put its CA into an object, if certificates come from there.
pub(super) fn annotate(place: &Place<'_>, object: &mut Value) {
    if place.settings.cert_manager {
        let certificate = format!("{}/{}", place.settings.namespace, place.full_name(SERVING));
        object["metadata"]["annotations"]["cert-manager.io/inject-ca-from"] = certificate.into();
    }
}

/// Prometheus checks the certificate of the metrics.
pub(super) fn monitor_patch(place: &Place<'_>) -> Part {
    let key = |key: &str| json!({ "secret": { "name": METRICS_SECRET, "key": key } });
    let patch = json!([{
        "op": "replace",
        "path": "/spec/endpoints/0/tlsConfig",
        "value": {
            "serverName": host(place, METRICS_SERVICE),
            "insecureSkipVerify": false,
            "ca": key("ca.crt"),
            "cert": key("tls.crt"),
            "keySecret": { "name": METRICS_SECRET, "key": "tls.key" },
        },
    }]);
    Part::of("prometheus/monitor_tls_patch.yaml", &patch)
}
