//! How a server is set up.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;

use kubewright_store::Limits;
use kubewright_system::clock::Clock;

use crate::access::tokens::ServiceAccountTokens;
use crate::access::{AuthorizationWebhook, User};
use crate::admit::{AdmissionConfigurationError, AdmissionPlugin, Settings};
use crate::aggregation::{ClientCertificate, FrontProxyError};
use crate::audit::{AuditLog, AuditLogFormat, AuditPolicy};
use crate::extension::DelegatedAccess;

/// How requests are authorized.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum AuthorizationMode {
    /// Roles and bindings, as in a real cluster. The administrator may do everything.
    #[default]
    Rbac,
    /// Nobody: everything is allowed, to anonymous clients as well.
    AlwaysAllow,
    /// Nothing is allowed but to the administrator, as members of `system:masters` are.
    AlwaysDeny,
    /// What kubelets may do: their own Node, and what the Pods on it refer to. It has no opinion about anybody else.
    Node,
    /// A webhook, which may allow, deny, or leave it to the next one.
    Webhook(AuthorizationWebhook),
}

/// How long requests may take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timeouts {
    /// A request that is no watch, where a webhook is waited for.
    pub(crate) request: Duration,
    /// A watch that does not say how long, at least; up to twice that (V8).
    pub(crate) watch: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Timeouts {
            request: Duration::from_mins(1),
            watch: Duration::from_mins(30),
        }
    }
}

/// How many requests the audit trail keeps by default.
const AUDIT_EVENTS: usize = 4096;

/// How a server is set up. The default is right for tests.
///
/// ```
/// use kubewright_apiserver::{ApiServer, AuthorizationMode, Options, User};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let options = Options::new()
///     .seed(7) // equal seeds, equal uids
///     .epoch("2026-01-01T00:00:00Z".parse().unwrap())
///     .authorization(AuthorizationMode::Rbac)
///     .service_account_admission(false)
///     .anonymous(false)
///     .token("open-sesame", User::new("jane", ["system:masters"]))
///     .audit_events(100);
/// let server = ApiServer::new(options);
///
/// let get = || http::Request::get("/api/v1/namespaces/default");
/// assert_eq!(server.handle_as(None, get().body(Default::default()).unwrap()).await.status(), 401);
/// let with_token = get().header("Authorization", "Bearer open-sesame").body(Default::default()).unwrap();
/// assert_eq!(server.handle_as(None, with_token).await.status(), 200);
/// # }
/// ```
#[derive(Clone)]
pub struct Options {
    pub(crate) seed: Option<u64>,
    pub(crate) epoch: Option<Timestamp>,
    pub(crate) authorization: Arc<[AuthorizationMode]>,
    pub(crate) anonymous: bool,
    pub(crate) tokens: HashMap<String, Arc<User>>,
    pub(crate) history_bytes: usize,
    pub(crate) audit_events: usize,
    pub(crate) audit_log: Option<AuditLog>,
    pub(crate) aggregated_roles: bool,
    pub(crate) admission: Settings,
    pub(crate) delegated: Option<Arc<dyn DelegatedAccess>>,
    pub(crate) service_account_tokens: ServiceAccountTokens,
    pub(crate) timeouts: Timeouts,
    pub(crate) privileged_containers: bool,
    pub(crate) flags: Arc<[(String, String)]>,
    pub(crate) front_proxy: Option<ClientCertificate>,
}

/// Tokens are secrets and not shown.
impl std::fmt::Debug for Options {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Options")
            .field("seed", &self.seed)
            .field("epoch", &self.epoch)
            .field("authorization", &self.authorization)
            .field("anonymous", &self.anonymous)
            .field("tokens", &self.tokens.len())
            .field("history_bytes", &self.history_bytes)
            .field("audit_events", &self.audit_events)
            .field("audit_log", &self.audit_log.is_some())
            .field("aggregated_roles", &self.aggregated_roles)
            .field("admission", &self.admission)
            .field("delegated", &self.delegated.is_some())
            .field("service_account_tokens", &self.service_account_tokens)
            .field("timeouts", &self.timeouts)
            .field("privileged_containers", &self.privileged_containers)
            .field("flags", &self.flags.len())
            .field("front_proxy", &self.front_proxy.is_some())
            .finish()
    }
}

impl Default for Options {
    fn default() -> Self {
        Options {
            seed: None,
            epoch: None,
            authorization: Arc::new([AuthorizationMode::default()]),
            anonymous: true,
            tokens: HashMap::new(),
            history_bytes: Limits::default().history_bytes,
            audit_events: AUDIT_EVENTS,
            audit_log: None,
            aggregated_roles: false,
            admission: Settings::default(),
            delegated: None,
            service_account_tokens: ServiceAccountTokens::default(),
            timeouts: Timeouts::default(),
            privileged_containers: true,
            flags: Arc::default(),
            front_proxy: None,
        }
    }
}

impl Options {
    /// The default: the machine's clock, uids that differ from run to run, RBAC.
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes uids, generated names and jitter repeat themselves.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// Whether pods are made to run as a service account of their namespace, with its token mounted and its pull
    /// secrets, as in a real cluster. Off by default, as in Go's test environment: somebody must make the accounts.
    pub fn service_account_admission(self, on: bool) -> Self {
        self.admission(AdmissionPlugin::ServiceAccount, on)
    }

    /// Whether an admission plugin sees writes. [`AdmissionPlugin::is_on_by_default`] says which do without this.
    pub fn admission(mut self, plugin: AdmissionPlugin, on: bool) -> Self {
        self.admission.set(plugin, on);
        self
    }

    /// Tells an admission plugin what a cluster's administrator would in the file of `--admission-control-config-file`: a
    /// `PodSecurityConfiguration` for [`AdmissionPlugin::PodSecurity`], a `Configuration` of `eventratelimit.admission.k8s.io/v1alpha1`
    /// for [`AdmissionPlugin::EventRateLimit`], which limits nothing without one, one of `podtolerationrestriction.admission.k8s.io/v1alpha1`
    /// for [`AdmissionPlugin::PodTolerationRestriction`], and an object with `imagePolicy` for [`AdmissionPlugin::ImagePolicyWebhook`], whose
    /// kubeconfig is read now.
    ///
    /// ```
    /// use kubewright_apiserver::{AdmissionPlugin, Options};
    /// use serde_json::json;
    ///
    /// let options = Options::new().configure_admission(AdmissionPlugin::PodSecurity, &json!({
    ///     "apiVersion": "pod-security.admission.config.k8s.io/v1",
    ///     "kind": "PodSecurityConfiguration",
    ///     "defaults": { "enforce": "baseline" },
    ///     "exemptions": { "namespaces": ["kube-system"] },
    /// }))?;
    /// # drop(options);
    /// # Ok::<(), kubewright_apiserver::AdmissionConfigurationError>(())
    /// ```
    pub fn configure_admission(
        mut self,
        plugin: AdmissionPlugin,
        configuration: &serde_json::Value,
    ) -> Result<Self, AdmissionConfigurationError> {
        self.admission.configure(plugin, configuration)?;
        Ok(self)
    }

    /// For how many seconds Pods tolerate a node that is not ready, and one that cannot be reached, unless they say so
    /// themselves (300 each by default).
    pub fn default_toleration_seconds(mut self, not_ready: i64, unreachable: i64) -> Self {
        self.admission.toleration_seconds = [not_ready, unreachable];
        self
    }

    /// How long a request may take that waits for webhooks (a minute by default; writes have 34 seconds in any case).
    pub fn request_timeout(mut self, timeout: Duration) -> Self {
        self.timeouts.request = timeout;
        self
    }

    /// How long a watch lasts at least whose client does not say so (half an hour by default); it ends within twice that time.
    pub fn watch_timeout(mut self, timeout: Duration) -> Self {
        self.timeouts.watch = timeout;
        self
    }

    /// Whether containers may be privileged (they may by default), and those of Windows processes of their node. A kube-apiserver without
    /// `--allow-privileged` refuses them, in Pods and in templates of Pods.
    ///
    /// ```
    /// use kubewright_apiserver::{ApiServer, Options};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let server = ApiServer::new(Options::new().privileged_containers(false));
    /// let pod = r#"{ "metadata": { "name": "web" }, "spec": { "containers": [
    ///     { "name": "web", "image": "nginx", "securityContext": { "privileged": true } }] } }"#;
    /// let request = http::Request::post("/api/v1/namespaces/default/pods").header("content-type", "application/json");
    /// assert_eq!(server.handle(request.body(pod.into()).unwrap()).await.status(), 422);
    /// # }
    /// ```
    pub fn privileged_containers(mut self, allowed: bool) -> Self {
        self.privileged_containers = allowed;
        self
    }

    /// The flags of the command that runs the server, with their values, which `/flagz` shows. None by default.
    pub fn flags(mut self, flags: impl IntoIterator<Item = (String, String)>) -> Self {
        self.flags = flags.into_iter().collect();
        self
    }

    /// The certificate by which servers of aggregated APIs recognize this one, followed by those between it and its authority, and
    /// its private key; both as PEM. By default there is one of this process.
    ///
    /// `ConfigMap` `kube-system/extension-apiserver-authentication` then names no authority of front proxies but those that listeners are
    /// given ([`ListenOptions::front_proxies`](crate::ListenOptions::front_proxies)).
    pub fn front_proxy_certificate(mut self, chain: &str, key: &str) -> Result<Self, FrontProxyError> {
        self.front_proxy = Some(ClientCertificate::of(chain, key)?);
        Ok(self)
    }

    /// How tokens of service accounts are signed and verified (with a key of this server's own by default).
    pub fn service_account_tokens(mut self, tokens: ServiceAccountTokens) -> Self {
        self.service_account_tokens = tokens;
        self
    }

    /// What the server's clock shows when it starts (the machine's time by default).
    pub fn epoch(mut self, epoch: Timestamp) -> Self {
        self.epoch = Some(epoch);
        self
    }

    /// Sets how requests are authorized (by RBAC by default).
    pub fn authorization(self, mode: AuthorizationMode) -> Self {
        self.authorization_modes([mode])
    }

    /// Sets several ways by which requests are authorized: they are asked one after another, and the first that allows a request decides.
    ///
    /// ```
    /// use kubewright_apiserver::{ApiServer, AuthorizationMode, Options, User};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let modes = [AuthorizationMode::Node, AuthorizationMode::Rbac];
    /// let server = ApiServer::new(Options::new().authorization_modes(modes));
    /// let kubelet = User::new("system:node:n1", ["system:nodes"]);
    /// let get = |name: &str| http::Request::get(format!("/api/v1/nodes/{name}")).body(Default::default()).unwrap();
    /// assert_eq!(server.handle_as(Some(&kubelet), get("n1")).await.status(), 404);
    /// assert_eq!(server.handle_as(Some(&kubelet), get("n2")).await.status(), 403);
    /// # }
    /// ```
    pub fn authorization_modes(mut self, modes: impl IntoIterator<Item = AuthorizationMode>) -> Self {
        self.authorization = modes.into_iter().collect();
        self
    }

    /// Whether clients that do not say who they are are let in, as `system:anonymous` (they are by default). What they
    /// may do is for authorization to decide; without this, they get 401.
    pub fn anonymous(mut self, allowed: bool) -> Self {
        self.anonymous = allowed;
        self
    }

    /// Leaves it to another one who the clients are and what they may do: neither tokens nor roles of this server count then.
    pub fn delegated_access(mut self, access: Arc<dyn DelegatedAccess>) -> Self {
        self.delegated = Some(access);
        self
    }

    /// About how many bytes of history the server keeps beyond what its objects take now (64 MiB by default): as far back as that reaches,
    /// lists and watches can begin, and [`ApiServer::fork_at_revision`](crate::ApiServer::fork_at_revision) can go. Of a state of more than
    /// 64 KiB, each byte beyond these counts sixteenfold.
    ///
    /// ```
    /// use kubewright_apiserver::{ApiServer, Options};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let server = ApiServer::new(Options::new().history_bytes(0));
    /// for name in ["one", "two"] {
    ///     let body = format!(r#"{{"metadata":{{"name":"{name}"}}}}"#);
    ///     let request = http::Request::post("/api/v1/namespaces").body(body.into()).unwrap();
    ///     assert_eq!(server.handle(request).await.status(), 201);
    /// }
    /// assert_eq!(server.oldest_revision() + 1, server.revision()); // the newest write is always kept
    /// # }
    /// ```
    pub fn history_bytes(mut self, most: usize) -> Self {
        self.history_bytes = most;
        self
    }

    pub(crate) fn limits(&self) -> Limits {
        Limits {
            history_bytes: self.history_bytes,
        }
    }

    pub(crate) fn clock(&self) -> Clock {
        self.epoch.map_or_else(Clock::system, Clock::starting_at)
    }

    /// A bearer token by which its bearer is `user`.
    pub fn token(mut self, token: impl Into<String>, user: User) -> Self {
        self.tokens.insert(token.into(), Arc::new(user));
        self
    }

    /// Whether the server fills in cluster roles that gather the rules of others, such as `view`, `edit` and `admin`, as the
    /// controller-manager of a cluster does. A kube-apiserver alone leaves them empty, and so does this one by default.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// use kubewright_apiserver::{ApiServer, Options, User};
    ///
    /// let server = ApiServer::new(Options::new().aggregated_roles(true));
    /// let binding = r#"{ "metadata": { "name": "readers" },
    ///     "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view" },
    ///     "subjects": [{ "apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "jane" }] }"#;
    /// let path = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings";
    /// let request = http::Request::post(path).header("content-type", "application/json").body(binding.into()).unwrap();
    /// assert_eq!(server.handle(request).await.status(), 201);
    ///
    /// let request = http::Request::get("/api/v1/configmaps").body(Default::default()).unwrap();
    /// assert_eq!(server.handle_as(Some(&User::new("jane", ["staff"])), request).await.status(), 200);
    /// # }
    /// ```
    pub fn aggregated_roles(mut self, fill_in: bool) -> Self {
        self.aggregated_roles = fill_in;
        self
    }

    /// Logs requests by a policy: `write` gets a line, without its end, for each stage of each request that the policy lets through. It is
    /// called while the request waits. There is no log by default.
    ///
    /// ```
    /// use std::sync::{Arc, Mutex};
    ///
    /// use kubewright_apiserver::{ApiServer, AuditLogFormat, AuditPolicy, Options};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let policy = "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: Metadata, omitStages: [RequestReceived]}]";
    /// let lines = Arc::new(Mutex::new(Vec::new()));
    /// let written = Arc::clone(&lines);
    /// let options = Options::new().audit_log(AuditPolicy::parse(policy).unwrap(), AuditLogFormat::Json, move |line| {
    ///     written.lock().unwrap().push(line.to_owned());
    /// });
    /// let server = ApiServer::new(options);
    /// server.handle(http::Request::get("/version").body(Default::default()).unwrap()).await;
    /// assert!(lines.lock().unwrap()[0].contains(r#""stage":"ResponseComplete","requestURI":"/version""#));
    /// # }
    /// ```
    pub fn audit_log(
        mut self,
        policy: AuditPolicy,
        format: AuditLogFormat,
        write: impl Fn(&str) + Send + Sync + 'static,
    ) -> Self {
        self.audit_log = Some(AuditLog {
            policy: Arc::new(policy),
            format,
            write: Arc::new(write),
        });
        self
    }

    /// How many requests the audit trail keeps (4096 by default); 0 keeps none.
    pub fn audit_events(mut self, most: usize) -> Self {
        self.audit_events = most;
        self
    }
}
