//! Certificates from cert-manager: who issues them, for which names, and who is told to trust them.

use serde_json::{Value, json};

use super::file::kustomization;
use super::network::{METRICS_SERVICE, WEBHOOK_SERVICE};
use super::{GeneratedFile, Place};

const API: &str = "cert-manager.io/v1";
const ISSUER: &str = "selfsigned-issuer";
/// The certificate of the webhooks.
const SERVING: &str = "serving-cert";
/// Its Secret.
pub(super) const SERVING_SECRET: &str = "webhook-server-cert";
/// The Secret of the metrics' certificate.
pub(super) const METRICS_SECRET: &str = "metrics-server-cert";

/// `config/certmanager`, which is there for whoever switches to it.
pub(super) fn files(place: &Place<'_>) -> Vec<GeneratedFile> {
    let mut issuer = place.namespaced(API, "Issuer", ISSUER);
    issuer["spec"] = json!({ "selfSigned": {} });
    let mut files = vec![GeneratedFile::of("certmanager/issuer.yaml", issuer)];
    if place.has_webhooks() {
        files.push(certificate(place, "webhook", SERVING, WEBHOOK_SERVICE, SERVING_SECRET));
    }
    files.push(certificate(
        place,
        "metrics",
        "metrics-certs",
        METRICS_SERVICE,
        METRICS_SECRET,
    ));
    let mut kustomization = kustomization(&files, "certmanager");
    kustomization.documents[0]["configurations"] = json!(["kustomizeconfig.yaml"]);
    let references = json!({ "nameReference": [{
        "kind": "Issuer",
        "group": "cert-manager.io",
        "fieldSpecs": [{ "kind": "Certificate", "group": "cert-manager.io", "path": "spec/issuerRef/name" }],
    }]});
    files.push(kustomization);
    files.push(GeneratedFile::of("certmanager/kustomizeconfig.yaml", references));
    files
}

fn certificate(place: &Place<'_>, of: &str, name: &str, service: &str, secret: &str) -> GeneratedFile {
    let host = host(place, service);
    let mut certificate = place.namespaced(API, "Certificate", name);
    certificate["spec"] = json!({
        "dnsNames": [host, format!("{host}.cluster.local")],
        "issuerRef": { "kind": "Issuer", "name": ISSUER },
        "secretName": secret,
    });
    GeneratedFile::of(format!("certmanager/certificate-{of}.yaml"), certificate)
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
pub(super) fn monitor_patch(place: &Place<'_>) -> GeneratedFile {
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
    GeneratedFile::of("prometheus/monitor_tls_patch.yaml", patch)
}
