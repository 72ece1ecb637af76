//! The server behind every transport, and its state. The way of a request through it is in `request`.

pub(crate) mod bootstrap;
mod history;
pub(crate) mod metrics;
pub(crate) mod options;
mod own_objects;
mod past;

pub use history::{StoredChange, StoredObject};
pub use past::RevisionError;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use jiff::Timestamp;
use kubewright_store::{Limits, Revision, Store};
use kubewright_system::clock::Clock;
use kubewright_system::random::Random;

use crate::access::tokens::Signer;
use crate::access::{Access, Identity, User};
use crate::admit::Settings;
use crate::aggregation::{Aggregation, ClientAuthorities};
use crate::audit::AuditTrail;
use crate::custom::Definitions;
use crate::extension::Mirror;
use crate::logs::Logs;
use crate::non_resource::openapi::Documents;
use crate::policy::Policies;
use crate::registry::Registry;
use crate::server::metrics::Metrics;
use crate::server::options::{Options, Timeouts};
use crate::service::LocalEndpoints;
use crate::stream::containers::Containers;
use crate::transport::Threads;
use crate::webhook::Webhooks;
use crate::wire::body::Body;
use crate::wire::status::{Result, Status};
use crate::write::allocate::Allocations;

/// How long a read waits for a revision that is still to come (R7).
const WAIT_FOR_REVISION: Duration = Duration::from_secs(3);

/// An embedded Kubernetes API server. Clones are handles to the same server.
///
/// ```
/// use kubewright_apiserver::{ApiServer, Options, User};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let server = ApiServer::new(Options::new());
/// let get = |path: &str| http::Request::get(path).body(Default::default()).unwrap();
/// assert_eq!(server.handle(get("/api/v1/namespaces/default")).await.status(), 200);
/// assert_eq!(server.handle_as(None, get("/api/v1/namespaces/default")).await.status(), 403); // who is that?
///
/// // A list at a revision of the past, until the past is forgotten.
/// let before = server.revision();
/// let made = http::Request::post("/api/v1/namespaces").body(r#"{"metadata":{"name":"shop"}}"#.into()).unwrap();
/// assert_eq!(server.handle(made).await.status(), 201);
/// let past = format!("/api/v1/namespaces?resourceVersion={before}&resourceVersionMatch=Exact");
/// assert_eq!(server.handle(get(&past)).await.status(), 200);
/// server.compact();
/// assert_eq!(server.handle(get(&past)).await.status(), 410);
///
/// // A copy of the whole cluster: a change of one is not seen in the other.
/// let fork = server.fork();
/// let gone = http::Request::delete("/api/v1/namespaces/default/configmaps/none").body(Default::default()).unwrap();
/// assert_eq!(fork.handle_as(Some(&User::admin()), gone).await.status(), 404);
/// # }
/// ```
#[derive(Clone)]
pub struct ApiServer {
    pub(crate) server: Arc<Server>,
}

/// The state of a server.
pub(crate) struct Server {
    /// This server, for what outlives a request.
    pub(crate) me: Weak<Server>,
    pub(crate) store: Store,
    pub(crate) clock: Clock,
    pub(crate) random: Random,
    pub(crate) metrics: Metrics,
    pub(crate) allocate: Allocations,
    pub(crate) logs: Logs,
    pub(crate) containers: Containers,
    pub(crate) signer: Signer,
    pub(crate) access: Access,
    pub(crate) audit: AuditTrail,
    pub(crate) definitions: Definitions,
    pub(crate) webhooks: Webhooks,
    pub(crate) policies: Policies,
    pub(crate) local_endpoints: LocalEndpoints,
    pub(crate) aggregation: Aggregation,
    pub(crate) client_authorities: ClientAuthorities,
    /// The rows of kinds that are not stored here, by the names of their definitions; set before the server is shared.
    pub(crate) mirrors: OnceLock<BTreeMap<String, Arc<Mirror>>>,
    pub(crate) admission: Settings,
    pub(crate) timeouts: Timeouts,
    /// Whether containers may be privileged.
    pub(crate) privileged_containers: bool,
    pub(crate) documents: Documents,
    /// Where requests go that take long.
    pub(crate) threads: Arc<Threads>,
    /// The address of the first listener, which discovery publishes.
    pub(crate) advertised: OnceLock<String>,
    /// Where clients inside the cluster were told to find this server.
    pub(crate) published: OnceLock<SocketAddr>,
    /// The port that Service `kubernetes` leads to, if it is not the usual one.
    pub(crate) service_port: OnceLock<u16>,
    pub(crate) started: Timestamp,
    /// The flags of the command that runs the server, with their values, for `/flagz`.
    pub(crate) flags: Arc<[(String, String)]>,
}

impl Server {
    /// Whether there is a policy or a webhook that a write may have to be shown to.
    pub(crate) fn has_dynamic_admission(&self) -> bool {
        self.webhooks.any() || self.policies.any()
    }
}

impl ApiServer {
    /// A server with the state every cluster begins with. Ready when this returns.
    #[expect(clippy::needless_pass_by_value, reason = "options are made for one server, in place")]
    pub fn new(options: Options) -> ApiServer {
        static BOOTSTRAP: OnceLock<Store> = OnceLock::new();
        // A seed repeats a run in another process, too.
        static REPEATABLE: OnceLock<Store> = OnceLock::new();
        let store = if options.seed.is_some() {
            REPEATABLE.get_or_init(|| bootstrap::repeatable_state(Limits::default()))
        } else {
            BOOTSTRAP.get_or_init(|| bootstrap::state(Limits::default()))
        };
        ApiServer::over(store, &options)
    }

    /// A server that begins with what a store has.
    pub(crate) fn over(store: &Store, options: &Options) -> ApiServer {
        let clock = options.clock();
        let store = store.fork_with(options.limits(), past::times_of(clock));
        let server = Arc::new_cyclic(|me| Server {
            me: me.clone(),
            allocate: Allocations::observing(&store),
            store,
            clock,
            random: options.seed.map_or_else(Random::from_entropy, Random::seeded),
            metrics: Metrics::default(),
            logs: Logs::default(),
            containers: Containers::default(),
            signer: Signer::new(&options.service_account_tokens),
            access: Access::new(options),
            audit: AuditTrail::new(options.audit_events, options.audit_log.clone()),
            definitions: Definitions::default(),
            webhooks: Webhooks::default(),
            policies: Policies::default(),
            local_endpoints: LocalEndpoints::default(),
            aggregation: Aggregation::new(options.front_proxy.clone()),
            client_authorities: ClientAuthorities::default(),
            mirrors: OnceLock::new(),
            admission: options.admission.clone(),
            timeouts: options.timeouts,
            privileged_containers: options.privileged_containers,
            documents: Documents::default(),
            threads: Arc::default(),
            advertised: OnceLock::new(),
            published: OnceLock::new(),
            service_port: OnceLock::new(),
            started: clock.now(),
            flags: options.flags.clone(),
        });
        server.aggregate_roles();
        server.forget_own_front_proxy();
        ApiServer { server }
    }

    /// An independent server with a copy of this one's state, at once whatever its size. It goes on with the same clock;
    /// its uids and names are other ones, and repeat themselves if this server's do.
    pub fn fork(&self) -> ApiServer {
        let access = self.server.access.fork();
        let (store, random) = (self.server.store.fork(), self.server.random.fork());
        self.fork_over(store, access, self.server.clock, random)
    }

    /// As [`fork`](Self::fork), for another runtime: the clock of the copy shows `now` and follows the runtime in which this is called,
    /// and its uids and names follow from `seed`. Equal arguments give equal copies.
    ///
    /// ```
    /// use kubewright_apiserver::{ApiServer, Options};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let server = ApiServer::new(Options::new());
    /// let copy = server.fork_at("2026-01-01T00:00:00Z".parse().unwrap(), 7);
    /// assert_eq!(copy.now().to_string()[..10], *"2026-01-01");
    /// # }
    /// ```
    pub fn fork_at(&self, now: Timestamp, seed: u64) -> ApiServer {
        let access = self.server.access.fork();
        let (store, clock) = (&self.server.store, Clock::starting_at(now));
        let store = store.fork_with(store.limits(), past::times_of(clock));
        self.fork_over(store, access, clock, Random::seeded(seed))
    }

    /// The time that the server's clock shows.
    pub fn now(&self) -> Timestamp {
        self.server.clock.now()
    }

    /// A copy of this server with a store of its own. All that is worked out from what is stored is worked out from that one.
    fn fork_over(&self, store: Store, access: Access, clock: Clock, random: Random) -> ApiServer {
        let server = &self.server;
        let fork = Arc::new_cyclic(|me| Server {
            me: me.clone(),
            // What a write that is still under way has reserved is not the fork's.
            allocate: Allocations::observing(&store),
            definitions: server.definitions.fork(&store),
            store,
            clock,
            random,
            metrics: Metrics::default(),
            logs: server.logs.fork(),
            containers: server.containers.fork(),
            signer: server.signer.clone(),
            access,
            audit: server.audit.fork(),
            webhooks: server.webhooks.fork(),
            policies: server.policies.fork(),
            local_endpoints: server.local_endpoints.fork(),
            aggregation: server.aggregation.fork(),
            client_authorities: server.client_authorities.fork(),
            mirrors: server.mirrors.clone(),
            admission: server.admission.clone(),
            timeouts: server.timeouts,
            privileged_containers: server.privileged_containers,
            documents: Documents::default(),
            threads: Arc::default(),
            advertised: OnceLock::new(),
            published: OnceLock::new(),
            service_port: OnceLock::new(),
            started: clock.now(),
            flags: Arc::clone(&server.flags),
        });
        fork.settle_all();
        fork.webhooks.renew(&fork.store);
        fork.policies.renew(&fork.store);
        fork.aggregate_apis();
        ApiServer { server: fork }
    }

    /// Forgets the history before now: watches and lists at older revisions answer 410 (R5, R6, V3).
    pub fn compact(&self) {
        self.server.store.compact(self.server.store.revision());
    }

    /// The revision of the newest write.
    pub fn revision(&self) -> u64 {
        self.server.store.revision().0
    }

    /// A resource of this server that has no objects: the revision at which it has none, and what ends when that may have changed.
    /// `None` if it has some, or is not stored here. For caches in this process, which need no watch until then.
    ///
    /// ```
    /// use kubewright_apiserver::{ApiServer, Options};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let server = ApiServer::new(Options::new());
    /// assert!(server.no_objects("", "v1", "namespaces").is_none());
    /// let (_, until) = server.no_objects("", "v1", "secrets").unwrap();
    /// let made = http::Request::post("/api/v1/namespaces/default/secrets").body(r#"{"metadata":{"name":"token"}}"#.into()).unwrap();
    /// server.handle(made).await;
    /// until.await;
    /// # }
    /// ```
    pub fn no_objects(
        &self,
        group: &str,
        version: &str,
        plural: &str,
    ) -> Option<(u64, impl Future<Output = ()> + Send + use<>)> {
        let served = self.server.definitions.served();
        let resource = Registry::builtin()
            .find(group, version, plural)
            .filter(|resource| resource.is_stored() && !served.without_built_ins)
            .or_else(|| served.registry.find(group, version, plural))?;
        let (snapshot, mut watcher) = self.server.store.snapshot_and_watch(resource.table, None);
        let revision = snapshot.is_empty().then(|| snapshot.revision().0)?;
        Some((revision, async move { watcher.ready().await }))
    }

    /// Answers a request of the administrator, as the in-process transport does.
    pub async fn handle(&self, request: Request<Bytes>) -> Response<Body> {
        self.handle_from(&Identity::admin(), request).await
    }

    /// Answers a request of `user`; of `None`, the headers may say who it is: a bearer token, or nothing, which makes it
    /// an anonymous one.
    pub async fn handle_as(&self, user: Option<&User>, request: Request<Bytes>) -> Response<Body> {
        let identity = user.map_or(Identity::Unknown, |user| Identity::Proven(Arc::new(user.clone())));
        self.handle_from(&identity, request).await
    }

    async fn handle_from(&self, identity: &Identity, request: Request<Bytes>) -> Response<Body> {
        let (parts, body) = request.into_parts();
        match self.serve(identity, &parts, body).await {
            Ok(response) => response,
            Err(never) => match never {},
        }
    }
}

impl std::fmt::Debug for ApiServer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ApiServer")
            .field("revision", &self.revision())
            .finish_non_exhaustive()
    }
}

impl Server {
    /// Waits until the store has reached a revision that a client knows of, within reason (R7, E6).
    pub(crate) async fn wait_for_revision(&self, revision: Revision) -> Result<()> {
        if self.store.revision() >= revision {
            return Ok(());
        }
        let reached = self.store.written_after(Revision(revision.0.saturating_sub(1)));
        if tokio::time::timeout(WAIT_FOR_REVISION, reached).await.is_ok() {
            return Ok(());
        }
        Err(Status::too_large_resource_version(revision.0, self.store.revision().0))
    }
}
