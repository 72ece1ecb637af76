//! Certificates from cert-manager: the issuer, the certificates, and where their CA is injected.

use serde_json::{Value, json};

use super::file::kustomization;
use super::network::{METRICS_SERVICE, WEBHOOK_SERVICE};
use super::{GeneratedFile, RenderContext, extension};

const API: &str = "cert-manager.io/v1";
const ISSUER: &str = "selfsigned-issuer";
/// The certificate of the webhooks.
const SERVING: &str = "serving-cert";
/// Its Secret.
pub(super) const SERVING_SECRET: &str = "webhook-server-cert";
/// The Secret of the metrics' certificate.
pub(super) const METRICS_SECRET: &str = "metrics-server-cert";
/// The certificate of the aggregated API.
pub(super) const EXTENSION: &str = "extension-cert";
/// Its Secret.
pub(super) const EXTENSION_SECRET: &str = "extension-server-cert";

/// `config/certmanager`. It is written always and listed once the project uses cert-manager.
pub(super) fn files(context: &RenderContext<'_>) -> Vec<GeneratedFile> {
    let mut issuer = context.namespaced(API, "Issuer", ISSUER);
    issuer["spec"] = json!({ "selfSigned": {} });
    let mut files = vec![GeneratedFile::of("certmanager/issuer.yaml", issuer)];
    if context.has_webhooks() {
        files.push(certificate(
            context,
            "webhook",
            SERVING,
            WEBHOOK_SERVICE,
            SERVING_SECRET,
        ));
    }
    if context.has_extension() {
        files.push(certificate(
            context,
            "extension",
            EXTENSION,
            extension::SERVICE,
            EXTENSION_SECRET,
        ));
    }
    files.push(certificate(
        context,
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

fn certificate(context: &RenderContext<'_>, of: &str, name: &str, service: &str, secret: &str) -> GeneratedFile {
    let host = host(context, service);
    let mut certificate = context.namespaced(API, "Certificate", name);
    certificate["spec"] = json!({
        "dnsNames": [host, format!("{host}.cluster.local")],
        "issuerRef": { "kind": "Issuer", "name": ISSUER },
        "secretName": secret,
    });
    GeneratedFile::of(format!("certmanager/certificate-{of}.yaml"), certificate)
}

/// The name of a Service within the cluster.
fn host(context: &RenderContext<'_>, service: &str) -> String {
    format!("{}.{}.svc", context.full_name(service), context.settings.namespace)
}

/// Tells cert-manager to put its CA into an object, if certificates come from there.
pub(super) fn annotate(context: &RenderContext<'_>, object: &mut Value) {
    annotate_with(context, object, SERVING);
}

/// The same for the CA of another certificate.
pub(super) fn annotate_with(context: &RenderContext<'_>, object: &mut Value, certificate: &str) {
    if context.settings.cert_manager {
        let certificate = format!("{}/{}", context.settings.namespace, context.full_name(certificate));
        object["metadata"]["annotations"]["cert-manager.io/inject-ca-from"] = certificate.into();
    }
}

/// Prometheus checks the certificate of the metrics.
pub(super) fn monitor_patch(context: &RenderContext<'_>) -> GeneratedFile {
    let key = |key: &str| json!({ "secret": { "name": METRICS_SECRET, "key": key } });
    let patch = json!([{
        "op": "replace",
        "path": "/spec/endpoints/0/tlsConfig",
        "value": {
            "serverName": host(context, METRICS_SERVICE),
            "insecureSkipVerify": false,
            "ca": key("ca.crt"),
            "cert": key("tls.crt"),
            "keySecret": { "name": METRICS_SECRET, "key": "tls.key" },
        },
    }]);
    GeneratedFile::of("prometheus/monitor_tls_patch.yaml", patch)
}
