//! Access over the network: Services for metrics and webhooks, webhook configurations, the `ServiceMonitor`, network policies.

use kubewright_description::{WebhookDescription, WebhookType};
use serde_json::{Value, json};

use super::context::NAMESPACE;
use super::file::kustomization;
use super::{GeneratedFile, RenderContext, alerts, certificates, extension};

const METRICS_PORT: u16 = 8443;
const WEBHOOK_PORT: u16 = 9443;

/// The Service of the metrics, without the prefix of names.
pub const METRICS_SERVICE: &str = "controller-manager-metrics-service";
/// The Service of the webhooks.
pub(super) const WEBHOOK_SERVICE: &str = "webhook-service";

pub(super) fn files(context: &RenderContext<'_>) -> Vec<GeneratedFile> {
    let mut metrics = service(
        context,
        METRICS_SERVICE,
        &json!({ "name": "https", "port": METRICS_PORT, "targetPort": METRICS_PORT, "protocol": "TCP" }),
    );
    metrics["metadata"]["labels"]["control-plane"] = "controller-manager".into();
    let mut files = vec![GeneratedFile::of("default/metrics_service.yaml", metrics)];
    files.extend(monitor(context));
    files.extend(policies(context));
    if context.has_webhooks() {
        files.extend(webhooks(context));
    }
    files
}

pub(super) fn service(context: &RenderContext<'_>, name: &str, port: &Value) -> Value {
    let mut service = context.namespaced("v1", "Service", name);
    service["spec"] = json!({ "ports": [port], "selector": context.selector() });
    service
}

fn webhooks(context: &RenderContext<'_>) -> Vec<GeneratedFile> {
    let port = json!({ "port": 443, "targetPort": WEBHOOK_PORT, "protocol": "TCP" });
    let mut files = vec![GeneratedFile::of(
        "webhook/service.yaml",
        service(context, WEBHOOK_SERVICE, &port),
    )];
    let configurations = configurations(context);
    if !configurations.is_empty() {
        files.push(GeneratedFile::of_all("webhook/manifests.yaml", configurations));
    }
    files.push(kustomization(&files, "webhook"));
    files
}

/// The webhook configurations, without a caBundle: the manager or cert-manager fills that in.
fn configurations(context: &RenderContext<'_>) -> Vec<Value> {
    let types = [
        (
            WebhookType::Mutating,
            "MutatingWebhookConfiguration",
            "mutating-webhook-configuration",
        ),
        (
            WebhookType::Validating,
            "ValidatingWebhookConfiguration",
            "validating-webhook-configuration",
        ),
    ];
    let mut configurations = Vec::new();
    for (role, kind, name) in types {
        let webhooks = context.operator.webhooks.iter().filter(|webhook| webhook.role == role);
        let entries: Vec<Value> = webhooks.map(entry).collect();
        if entries.is_empty() {
            continue;
        }
        let mut configuration = context.object("admissionregistration.k8s.io/v1", kind, name);
        configuration["webhooks"] = json!(entries);
        certificates::annotate(context, &mut configuration);
        configurations.push(configuration);
    }
    configurations
}

/// An entry of a webhook configuration. A description has the same fields, but for its type and its path, which become the list
/// it is in and the path of the Service.
fn entry(webhook: &WebhookDescription) -> Value {
    let service = json!({ "namespace": NAMESPACE, "name": WEBHOOK_SERVICE, "path": webhook.path });
    let mut entry = json!(webhook);
    if let Some(fields) = entry.as_object_mut() {
        fields.remove("type");
        fields.remove("path");
        if webhook.role != WebhookType::Mutating {
            fields.remove("reinvocationPolicy");
        }
        fields.insert("clientConfig".to_owned(), json!({ "service": service }));
    }
    entry
}

/// The `ServiceMonitor` through which Prometheus finds the metrics, and the alerts on them.
fn monitor(context: &RenderContext<'_>) -> Vec<GeneratedFile> {
    let mut monitor = context.namespaced(
        "monitoring.coreos.com/v1",
        "ServiceMonitor",
        "controller-manager-metrics-monitor",
    );
    monitor["metadata"]["labels"]["control-plane"] = "controller-manager".into();
    monitor["spec"] = json!({
        "endpoints": [{
            "path": "/metrics",
            "port": "https",
            "scheme": "https",
            "bearerTokenFile": "/var/run/secrets/kubernetes.io/serviceaccount/token",
            // Nobody can verify the manager's own certificate; with cert-manager, a patch replaces this.
            "tlsConfig": { "insecureSkipVerify": true },
        }],
        "selector": { "matchLabels": context.selector() },
    });
    let mut files = vec![GeneratedFile::of("prometheus/monitor.yaml", monitor)];
    let mut resources = vec!["monitor.yaml"];
    if let Some(alerts) = alerts::file(context) {
        resources.insert(0, "alerts.yaml");
        files.push(alerts);
    }
    let mut kustomization = json!({ "resources": resources });
    if context.settings.cert_manager {
        kustomization["patches"] =
            json!([{ "path": "monitor_tls_patch.yaml", "target": { "kind": "ServiceMonitor" } }]);
        files.push(certificates::monitor_patch(context));
    }
    files.push(GeneratedFile::of("prometheus/kustomization.yaml", kustomization));
    files
}

/// The network policies: metrics are open to namespaces with a label, webhooks to everybody, since the API server has no address
/// that a policy could name.
fn policies(context: &RenderContext<'_>) -> Vec<GeneratedFile> {
    let policy = |name: &str, why: &str, ingress: Value| {
        let mut policy = context.namespaced("networking.k8s.io/v1", "NetworkPolicy", name);
        policy["spec"] = json!({
            "podSelector": { "matchLabels": context.selector() },
            "policyTypes": ["Ingress"],
            "ingress": [ingress],
        });
        GeneratedFile::of(format!("network-policy/{name}.yaml"), policy).commented(why)
    };
    let mut files = vec![policy(
        "allow-metrics-traffic",
        "Metrics are read from namespaces with the label `metrics: enabled`.",
        json!({
            "from": [{ "namespaceSelector": { "matchLabels": { "metrics": "enabled" } } }],
            "ports": [{ "port": METRICS_PORT, "protocol": "TCP" }],
        }),
    )];
    if context.has_webhooks() {
        files.push(policy(
            "allow-webhook-traffic",
            "Webhooks are called by the API server, which has no address that a policy could name: the port is open to all.",
            json!({ "ports": [{ "port": WEBHOOK_PORT, "protocol": "TCP" }] }),
        ));
    }
    if context.has_extension() {
        files.push(policy(
            "allow-extension-traffic",
            "The aggregated API is called by the API server, which has no address that a policy could name: the port is open to all.",
            json!({ "ports": [{ "port": extension::PORT, "protocol": "TCP" }] }),
        ));
    }
    files.push(kustomization(&files, "network-policy"));
    files
}
