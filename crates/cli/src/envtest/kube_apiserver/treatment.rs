//! What the drop-in does with each flag of kube-apiserver.

/// What is done with a flag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Treatment {
    /// It has its meaning here.
    Obeyed,
    /// It tunes something that a client does not notice, or that is not there: accepted, without effect.
    Tuning,
    /// It would change a behaviour that is not here, for this reason. Its default is accepted.
    Refused(&'static str),
}

/// What is done with the flag of this name; `None` if kube-apiserver has no such flag.
pub(super) fn of(name: &str) -> Option<Treatment> {
    if OBEYED.contains(&name) {
        return Some(Treatment::Obeyed);
    }
    if TUNING.contains(&name) {
        return Some(Treatment::Tuning);
    }
    let (_, why) = REFUSED.iter().find(|(names, _)| names.contains(&name))?;
    Some(Treatment::Refused(why))
}

#[rustfmt::skip]
const OBEYED: &[&str] = &[
    // Where and with what it listens.
    "advertise-address", "bind-address", "secure-port", "cert-dir", "tls-cert-file", "tls-private-key-file", "tls-min-version",
    "shutdown-delay-duration", "request-timeout", "min-request-timeout", "external-hostname", "endpoint-reconciler-type",
    // Who asks, and whether they may.
    "anonymous-auth", "client-ca-file", "token-auth-file", "authorization-mode", "authorization-config",
    "authorization-webhook-config-file", "authorization-webhook-version", "authorization-webhook-cache-authorized-ttl",
    "authorization-webhook-cache-unauthorized-ttl", "api-audiences", "service-account-issuer",
    "service-account-key-file", "service-account-signing-key-file", "service-account-max-token-expiration",
    "service-account-extend-token-expiration", "service-account-jwks-uri", "requestheader-allowed-names", "requestheader-client-ca-file",
    "requestheader-extra-headers-prefix", "requestheader-group-headers", "requestheader-uid-headers", "requestheader-username-headers",
    // By what servers of aggregated APIs recognize it.
    "proxy-client-cert-file", "proxy-client-key-file",
    // What is logged of requests.
    "audit-log-format", "audit-log-maxage", "audit-log-maxbackup", "audit-log-maxsize", "audit-log-path", "audit-policy-file",
    // What is admitted, and which APIs there are.
    "admission-control", "admission-control-config-file", "enable-admission-plugins", "disable-admission-plugins", "default-not-ready-toleration-seconds",
    "default-unreachable-toleration-seconds", "feature-gates", "runtime-config", "allow-privileged",
    "service-cluster-ip-range", "service-node-port-range", "etcd-servers", "help", "version",
];

#[rustfmt::skip]
const TUNING: &[&str] = &[
    // Storage is in memory.
    "default-watch-cache-size", "delete-collection-workers", "encryption-provider-config",
    "encryption-provider-config-automatic-reload", "etcd-cafile", "etcd-certfile", "etcd-compaction-interval",
    "etcd-count-metric-poll-period", "etcd-db-metric-poll-interval", "etcd-healthcheck-timeout", "etcd-keyfile", "etcd-prefix",
    "etcd-readycheck-timeout", "etcd-servers-overrides", "lease-reuse-duration-seconds", "storage-backend",
    "storage-initialization-timeout", "storage-media-type", "watch-cache", "watch-cache-sizes",
    // Load and time: small requests of one machine.
    "enable-priority-and-fairness", "goaway-chance", "http2-max-streams-per-connection", "max-connection-bytes-per-sec",
    "max-mutating-requests-inflight", "max-requests-inflight", "livez-grace-period", "shutdown-send-retry-after",
    "shutdown-watch-termination-grace-period", "permit-address-sharing", "permit-port-sharing", "tls-cipher-suites",
    "tls-curve-preferences",
    // Logs, metrics and profiles of the program itself.
    "allow-metric-labels", "allow-metric-labels-manifest", "contention-profiling", "debug-socket-path", "disabled-metrics",
    "enable-logs-handler", "log-flush-frequency", "log-json-info-buffer-size", "log-json-split-stream",
    "log-text-info-buffer-size", "log-text-split-stream", "logging-format", "profiling", "show-hidden-metrics-for-version",
    "v", "vmodule",
    // There are no kubelets that this server connects to, and no other kube-apiserver.
    "apiserver-count", "coordinated-leadership-lease-duration", "coordinated-leadership-renew-deadline",
    "coordinated-leadership-retry-period", "kubelet-certificate-authority",
    "kubelet-client-certificate", "kubelet-client-key", "kubelet-port", "kubelet-preferred-address-types",
    "kubelet-read-only-port", "kubelet-timeout",
    // Requests to aggregated APIs go to the endpoints of a Service in any case: nothing listens at a ClusterIP.
    "enable-aggregator-routing",
    // How much of an audit log or a webhook's answers is kept, once there is one.
    "audit-log-batch-buffer-size", "audit-log-batch-max-size", "audit-log-batch-max-wait", "audit-log-batch-throttle-burst",
    "audit-log-batch-throttle-enable", "audit-log-batch-throttle-qps", "audit-log-compress", "audit-log-mode",
    "audit-log-truncate-enabled",
    "audit-log-truncate-max-batch-size", "audit-log-truncate-max-event-size", "audit-log-version",
    "audit-webhook-batch-buffer-size", "audit-webhook-batch-max-size", "audit-webhook-batch-max-wait",
    "audit-webhook-batch-throttle-burst", "audit-webhook-batch-throttle-enable", "audit-webhook-batch-throttle-qps",
    "audit-webhook-initial-backoff", "audit-webhook-batch-initial-backoff", "audit-webhook-mode",
    "audit-webhook-truncate-enabled", "audit-webhook-truncate-max-batch-size", "audit-webhook-truncate-max-event-size",
    "audit-webhook-version", "authentication-token-webhook-cache-ttl", "authentication-token-webhook-version",
];

/// Flags that are refused, and why.
const REFUSED: &[(&[&str], &str)] = &[
    (
        &["aggregator-reject-forwarding-redirect"],
        "this server passes no redirect of an aggregated API on",
    ),
    (
        &["audit-webhook-config-file"],
        "this server sends audit events to no webhook; use --audit-log-path",
    ),
    (
        &["authentication-token-webhook-config-file"],
        "this server does not ask a webhook about tokens; use --token-auth-file",
    ),
    (
        &["authorization-policy-file"],
        "this server authorizes by RBAC, Node, Webhook, AlwaysAllow or AlwaysDeny alone",
    ),
    (
        &[
            "oidc-ca-file",
            "oidc-client-id",
            "oidc-groups-claim",
            "oidc-groups-prefix",
            "oidc-issuer-url",
            "oidc-required-claim",
            "oidc-signing-algs",
            "oidc-username-claim",
            "oidc-username-prefix",
        ],
        "this server does not ask an OpenID provider; sign in with certificates or tokens",
    ),
    (
        &["authentication-config"],
        "this server reads no AuthenticationConfiguration; use the flags it stands for",
    ),
    (
        &["enable-bootstrap-token-auth"],
        "this server does not take Secrets in kube-system for credentials",
    ),
    (
        &["service-account-lookup"],
        "this server always looks up whom a token was made for",
    ),
    (
        &["service-account-signing-endpoint"],
        "this server signs tokens with --service-account-signing-key-file",
    ),
    (
        &["tls-sni-cert-key"],
        "this server has one certificate, of --tls-cert-file or --cert-dir",
    ),
    (&["event-ttl"], "this server keeps Events until somebody deletes them"),
    (
        &["enable-garbage-collector"],
        "this server always marks what its owner's deletion waits for",
    ),
    (
        &["disable-http2-serving"],
        "this server always offers HTTP/2; clients that do not want it use HTTP/1.1",
    ),
    (
        &["cors-allowed-origins", "strict-transport-security-directives"],
        "this server answers no browsers",
    ),
    (
        &["kubernetes-service-node-port"],
        "this server's Service kubernetes has a cluster IP alone",
    ),
    (
        &["egress-selector-config-file"],
        "this server connects to webhooks and nothing else, directly",
    ),
    (&["tracing-config-file"], "this server sends no traces"),
    (
        &["peer-advertise-ip", "peer-advertise-port", "peer-ca-file"],
        "this server has no peers",
    ),
    (
        &[
            "emulated-version",
            "min-compatibility-version",
            "emulation-forward-compatible",
            "runtime-config-emulation-forward-compatible",
        ],
        "this server has one version of Kubernetes",
    ),
];
