//! The environment of a test: a control plane, the operator in it, and what a test does there.

mod builder;
mod clean;
mod connect;
mod exec;
mod lifecycle;
mod logs;
mod name;
mod namespace;
mod nodes;
mod objects;

use std::any::Any;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use kubewright_controllers::Controllers;
use kubewright_runtime::client::{Client, FieldValidation};
use kubewright_runtime::clock::Clock;
use kubewright_runtime::informer::Cache;
use kubewright_runtime::manager::Manager;
use kubewright_runtime::mapper::RestMapper;
use kubewright_runtime::operator::Operator;
use kubewright_runtime::trace::Trace;
use serde_json::Value;

pub use builder::Builder;
pub(crate) use builder::{Resumed, SEEDED_EPOCH};
pub use exec::{ExecReply, Executed};
pub use name::Name;
pub use namespace::{NewNamespace, PodSecurity};

use crate::control_plane::ControlPlane;
use crate::fail::{CallSite, fail, or_fail};
use crate::install::Installation;
use crate::manager::RunningManager;
use crate::running_controllers::RunningControllers;
use crate::traffic::{Fault, Injected, Refusal, Traffic};
use crate::{Error, Manifests, Metrics};

/// The field manager of a test's writes.
pub(crate) const FIELD_OWNER: &str = "kubewright-test";
/// How many bytes of what happened in the manager are kept.
const TRACE: usize = 4 << 20;

/// A control plane with an operator running in it, for one test.
///
/// Kubernetes' own controllers run beside the operator, with a simulated node: a Deployment gets Pods, Pods become ready, a Job
/// completes, what has lost its owner is collected. [`Builder::controllers`] switches them off.
///
/// Everything a test does goes through here. Methods fail the test with a text that says what was wrong; those whose names begin
/// with `try_` return a `Result` instead. Dropping the environment ends it: the manager first, then the control plane.
///
/// A request of the manager that its role does not allow fails the test, and says which `#[rbac(…)]` is missing.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kubewright_runtime::operator::Operator;
/// use kubewright_testing::TestEnv;
///
/// let env = TestEnv::start(Operator::new("shop")).await;
/// env.apply("{apiVersion: v1, kind: ConfigMap, metadata: {name: prices}, data: {bread: '3'}}").await;
/// let prices = env.get::<ConfigMap>("prices").await;
/// assert_eq!(prices.data.unwrap()["bread"], "3");
/// # }
/// ```
///
/// What may fail without failing the test:
///
/// ```
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() -> Result<(), kubewright_testing::Error> {
/// use k8s_openapi::api::core::v1::{ConfigMap, Pod};
/// use kubewright_runtime::operator::Operator;
/// use kubewright_testing::TestEnv;
///
/// let env = TestEnv::builder().operator(Operator::new("shop")).embedded().try_start().await?;
/// let mut map = ConfigMap::default();
/// map.metadata.name = Some("prices".to_owned());
/// let created = env.try_create(&map).await?;
/// env.try_update(&created).await?;
/// assert!(env.try_update(&created).await.is_ok()); // nothing has changed
/// env.try_edit::<ConfigMap>("prices", |map| map.immutable = Some(true)).await?;
/// assert!(env.try_get::<ConfigMap>("prices").await?.is_some());
/// assert!(!env.try_list::<ConfigMap>().await?.is_empty());
/// assert!(env.try_update_status(&Pod::default()).await.is_err());
/// env.try_delete::<ConfigMap>("prices").await?;
/// assert!(env.try_apply_file("no/such/file.yaml").await.is_err());
///
/// env.try_restart_manager().await?;
/// env.stop_manager().await;
/// env.try_start_manager().await?;
/// env.try_fail_node("node-1").await?;
/// env.try_recover_node("node-1").await?;
///
/// let fork = env.try_fork().await?;
/// assert!(fork.try_server()?.revision() >= env.try_server()?.revision());
/// assert!(env.try_as_user("jane", ["staff"]).is_ok());
/// assert!(env.try_kubeconfig().await.is_err()); // nobody outside can wait for a clock that stands still
/// # Ok(())
/// # }
/// ```
pub struct TestEnv {
    /// `None` once it is stopped.
    control_plane: Option<ControlPlane>,
    operator: Option<Operator>,
    installation: Option<Installation>,
    /// What was installed from files.
    extra: Vec<Value>,
    settings: Settings,
    client: Client,
    mapper: RestMapper,
    namespace: String,
    traffic: Traffic,
    trace: Trace,
    manager: parking_lot::Mutex<Option<RunningManager>>,
    /// A second replica, which waits for the lease of the first.
    standby: parking_lot::Mutex<Option<RunningManager>>,
    controllers: parking_lot::Mutex<Option<RunningControllers>>,
    started: CallSite,
    /// How many managers were started: each has random numbers of its own.
    starts: AtomicU64,
    external: Option<Arc<dyn Any + Send + Sync>>,
}

/// When a new namespace of the test gets its account `default`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum DefaultAccount {
    /// Once a controller makes it, if there is one.
    Later,
    /// With the namespace, since Pods are refused until it is there.
    AtOnce,
}

/// What the builder says that outlives the start.
#[derive(Clone)]
struct Settings {
    seed: Option<u64>,
    /// Of the server, its controllers, the operator and forks: ages are differences between their times.
    clock: Clock,
    /// Of the operator's machine.
    operator_clock: Clock,
    /// Whether each wait looks for reads that timed out; if not, somebody else does in the end.
    checks_reads: bool,
    default_account: DefaultAccount,
    /// Whether managers are replicas that hold an election.
    replicated: bool,
    deadline: Duration,
    write_budget: u64,
    refusals_fail: bool,
    configure: std::sync::Arc<dyn Fn(Manager) -> Manager + Send + Sync>,
    /// Makes the operator of each manager, instead of one operator for all.
    renewed: Option<std::sync::Arc<dyn Fn() -> Operator + Send + Sync>>,
    controllers: Controllers,
    test: String,
}

impl TestEnv {
    /// A control plane with this operator installed and running, ready when this returns.
    ///
    /// It is the embedded server, unless the environment says otherwise (see [`Mode`](crate::Mode)).
    #[track_caller]
    pub fn start(operator: Operator) -> impl Future<Output = TestEnv> {
        Self::builder().operator(operator).start()
    }

    /// As [`start`](Self::start), but returns the error instead of failing the test.
    #[track_caller]
    pub fn try_start(operator: Operator) -> impl Future<Output = Result<TestEnv, Error>> {
        Self::builder().operator(operator).try_start()
    }

    /// An environment of parts: with or without an operator, with definitions and webhooks from files.
    pub fn builder() -> Builder {
        Builder::new()
    }

    /// A client that may do everything and reads from the server, not from a cache.
    pub fn client(&self) -> Client {
        self.client.clone()
    }

    /// The same as a client of `kube`.
    pub fn kube(&self) -> kube::Client {
        self.client.kube().clone()
    }

    /// A client of another user, with the permissions of the user's roles.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// use k8s_openapi::api::core::v1::Secret;
    /// use kubewright_runtime::cache::Query;
    /// use kubewright_testing::TestEnv;
    ///
    /// let env = TestEnv::builder().embedded().start().await;
    /// let jane = env.as_user("jane", ["staff"]);
    /// let error = jane.list::<Secret>(&Query::all()).await.unwrap_err();
    /// assert_eq!(error.code(), Some(403));
    /// # }
    /// ```
    #[track_caller]
    pub fn as_user(&self, name: &str, groups: impl IntoIterator<Item = impl Into<String>>) -> Client {
        let at = std::panic::Location::caller();
        self.try_as_user(name, groups)
            .unwrap_or_else(|error| fail(at, &error.text()))
    }

    /// As [`as_user`](Self::as_user), but returns the error instead of failing the test.
    pub fn try_as_user(
        &self,
        name: &str,
        groups: impl IntoIterator<Item = impl Into<String>>,
    ) -> Result<Client, Error> {
        let groups: Vec<String> = groups.into_iter().map(Into::into).collect();
        Ok(live(self.control_plane()?.user(name, &groups)?).with_clock(self.settings.clock))
    }

    /// The namespace of this test: a fresh one, which everything that names none goes into.
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// The system outside the cluster that takes part in an exploration, by the type that
    /// [`explore_with`](crate::explore::explore_with) was given.
    #[track_caller]
    pub fn external<E: crate::explore::External>(&self) -> Arc<E> {
        let system = self.external.clone().and_then(|system| system.downcast().ok());
        system.unwrap_or_else(|| {
            let text = format!(
                "there is no {} here: `explore_with` makes one for each run",
                std::any::type_name::<E>()
            );
            fail(std::panic::Location::caller(), &text)
        })
    }

    /// A kubeconfig of the administrator, for clients outside this process. Not possible while the clock is paused.
    #[track_caller]
    pub fn kubeconfig(&self) -> impl Future<Output = String> {
        or_fail(std::panic::Location::caller(), self.try_kubeconfig())
    }

    /// As [`kubeconfig`](Self::kubeconfig), but returns the error instead of failing the test.
    pub async fn try_kubeconfig(&self) -> Result<String, Error> {
        self.control_plane()?.kubeconfig().await
    }

    /// The metrics of the manager, as they are now.
    pub fn metrics(&self) -> Metrics {
        let manager = self.manager.lock();
        Metrics::parse(
            &manager
                .as_ref()
                .map_or_else(String::new, |manager| manager.registry.render()),
        )
    }

    /// Disturbs the requests of the manager. See [`Fault`].
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// use kubewright_testing::{Fault, TestEnv};
    ///
    /// let env = TestEnv::builder().embedded().start().await;
    /// let injected = env.inject(Fault::fail(500).writes().nth(2));
    /// assert_eq!(injected.hits(), 0);
    /// # }
    /// ```
    pub fn inject(&self, fault: Fault) -> Injected {
        self.traffic.inject(fault)
    }

    /// Ends all faults that were injected.
    pub fn clear_faults(&self) {
        self.traffic.clear_faults();
    }

    /// What the manager was refused so far. A test that takes them expects them, and does not fail for them.
    pub fn take_refusals(&self) -> Vec<Refusal> {
        self.traffic.take_refusals()
    }

    fn control_plane(&self) -> Result<&ControlPlane, Error> {
        let stopped = || Error::ControlPlane("this environment is stopped".to_owned());
        self.control_plane.as_ref().ok_or_else(stopped)
    }

    /// What happened in the operator, as far as 4 MiB reach: events, causes, reconciles with what they read, wrote and logged, webhook
    /// calls. It goes on over restarts of the manager; a fork has one of its own.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// use kubewright_runtime::operator::Operator;
    /// use kubewright_runtime::trace::TraceEvent;
    /// use kubewright_testing::TestEnv;
    ///
    /// let env = TestEnv::start(Operator::new("shop")).await;
    /// env.settle().await;
    /// let failed = |event: &TraceEvent| matches!(event, TraceEvent::Ended { error: Some(_), .. });
    /// assert!(!env.trace().records().iter().any(|record| failed(&record.event)));
    /// # }
    /// ```
    pub fn trace(&self) -> &Trace {
        &self.trace
    }

    pub(crate) fn traffic(&self) -> &Traffic {
        &self.traffic
    }

    pub(crate) fn deadline(&self) -> Duration {
        self.settings.deadline
    }

    pub(crate) fn write_budget(&self) -> u64 {
        self.settings.write_budget
    }

    pub(crate) fn mode_name(&self) -> &'static str {
        self.control_plane.as_ref().map_or("stopped", ControlPlane::mode_name)
    }

    pub(crate) fn checks_reads(&self) -> bool {
        self.settings.checks_reads
    }

    pub(crate) fn refusals_fail(&self) -> bool {
        self.settings.refusals_fail
    }

    /// Looks at the manager, if there is one.
    pub(crate) fn with_manager<T>(&self, look: impl FnOnce(&RunningManager) -> T) -> Option<T> {
        self.manager.lock().as_ref().map(look)
    }

    /// Looks at the controllers of the cluster, if they are the test's own.
    pub(crate) fn with_controllers<T>(&self, look: impl FnOnce(&RunningControllers) -> T) -> Option<T> {
        self.controllers.lock().as_ref().map(look)
    }

    pub(crate) fn mapper(&self) -> &RestMapper {
        &self.mapper
    }

    /// Applies all objects of a file, relative to the crate that is tested: `config/samples/view_v1_markdownview.yaml`.
    #[track_caller]
    pub fn apply_file(&self, path: impl AsRef<Path>) -> impl Future<Output = Vec<kube::core::DynamicObject>> {
        or_fail(std::panic::Location::caller(), self.try_apply_file(path))
    }

    /// As [`apply_file`](Self::apply_file), but returns the error instead of failing the test.
    pub async fn try_apply_file(&self, path: impl AsRef<Path>) -> Result<Vec<kube::core::DynamicObject>, Error> {
        self.apply_all(crate::manifests::read(path.as_ref())?).await
    }

    /// Applies objects server-side, as the test's own fields: YAML, a JSON value or a reference to an object. Unknown fields are
    /// refused. What names no namespace goes into [`TestEnv::namespace`].
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// use kubewright_testing::TestEnv;
    /// use serde_json::json;
    ///
    /// let env = TestEnv::builder().embedded().start().await;
    /// env.apply(json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a" }, "data": { "x": "1" } })).await;
    /// let error = env.try_apply("{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, dater: {}}").await.unwrap_err();
    /// assert!(error.text().contains("dater"), "{}", error.text());
    /// # }
    /// ```
    #[track_caller]
    pub fn apply(&self, manifests: impl Manifests) -> impl Future<Output = Vec<kube::core::DynamicObject>> {
        or_fail(std::panic::Location::caller(), self.try_apply(manifests))
    }

    /// As [`apply`](Self::apply), but returns the error instead of failing the test.
    pub fn try_apply(
        &self,
        manifests: impl Manifests,
    ) -> impl Future<Output = Result<Vec<kube::core::DynamicObject>, Error>> {
        let objects = manifests.objects();
        async move { self.apply_all(objects?).await }
    }
}

/// The trace of an environment.
fn trace(control_plane: &ControlPlane) -> Trace {
    match control_plane.server().cloned() {
        Some(server) => Trace::bounded_beside(TRACE, move || server.revision()),
        None => Trace::bounded(TRACE),
    }
}

/// A client that reads from the server and owns what it applies.
pub(crate) fn live(kube: kube::Client) -> Client {
    Client::new(kube, Cache::default())
        .live()
        .field_owner(FIELD_OWNER)
        .force()
        .field_validation(FieldValidation::Strict)
}

impl std::fmt::Debug for TestEnv {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TestEnv")
            .field("operator", &self.operator.as_ref().map(Operator::name))
            .field("namespace", &self.namespace)
            .field("mode", &self.mode_name())
            .finish_non_exhaustive()
    }
}
