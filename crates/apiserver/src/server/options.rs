//! How a server is set up.

use std::collections::HashMap;
use std::sync::Arc;

use jiff::Timestamp;

use crate::access::User;
use crate::admit::Settings;

/// How requests are authorized.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AuthorizationMode {
    /// Roles and bindings, as in a real cluster. The administrator may do everything.
    #[default]
    Rbac,
    /// Nobody: everything is allowed, to anonymous clients as well.
    AlwaysAllow,
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
    pub(crate) authorization: AuthorizationMode,
    pub(crate) anonymous: bool,
    pub(crate) tokens: HashMap<String, Arc<User>>,
    pub(crate) audit_events: usize,
    pub(crate) aggregated_roles: bool,
    pub(crate) admission: Settings,
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
            .field("audit_events", &self.audit_events)
            .field("aggregated_roles", &self.aggregated_roles)
            .field("admission", &self.admission)
            .finish()
    }
}

impl Default for Options {
    fn default() -> Self {
        Options {
            seed: None,
            epoch: None,
            authorization: AuthorizationMode::default(),
            anonymous: true,
            tokens: HashMap::new(),
            audit_events: AUDIT_EVENTS,
            aggregated_roles: false,
            admission: Settings::default(),
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
    pub fn service_account_admission(mut self, on: bool) -> Self {
        self.admission.service_accounts = on;
        self
    }

    /// What the server's clock shows when it starts (the machine's time by default).
    pub fn epoch(mut self, epoch: Timestamp) -> Self {
        self.epoch = Some(epoch);
        self
    }

    /// Sets how requests are authorized (by RBAC by default).
    pub fn authorization(mut self, mode: AuthorizationMode) -> Self {
        self.authorization = mode;
        self
    }

    /// Whether clients that do not say who they are are let in, as `system:anonymous` (they are by default). What they
    /// may do is for authorization to decide; without this, they get 401.
    pub fn anonymous(mut self, allowed: bool) -> Self {
        self.anonymous = allowed;
        self
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

    /// How many requests the audit trail keeps (4096 by default); 0 keeps none.
    pub fn audit_events(mut self, most: usize) -> Self {
        self.audit_events = most;
        self
    }
}
