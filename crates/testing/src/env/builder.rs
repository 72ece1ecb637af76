//! How an environment is set up.

use std::any::Any;
use std::panic::Location;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use jiff::Timestamp;
use kubewright_apiserver::{AdmissionPlugin, ApiServer};
use kubewright_controllers::Controllers;
use kubewright_runtime::clock::Clock;
use kubewright_runtime::manager::Manager;
use kubewright_runtime::mapper::RestMapper;
use kubewright_runtime::operator::Operator;
use kubewright_runtime::random::Random;
use serde_json::{Value, json};

use super::namespace::{NamespaceLimits, give_account};
use super::{DefaultAccount, PodSecurity, Settings, TestEnv, live, trace};
use crate::control_plane::{ControlPlane, Embedded, Mode};
use crate::fail::{CallSite, or_fail};
use crate::install::{self, Installation};
use crate::traffic::{Rewrite, Traffic};
use crate::{Error, deadline, manifests};

/// When an environment with a seed begins, in virtual time: 2026-01-01T00:00:00Z.
pub(crate) const SEEDED_EPOCH: Timestamp = Timestamp::constant(1_767_225_600, 0);
/// How many writes a manager may need within a minute.
const WRITE_BUDGET: u64 = 1000;

/// An environment that is not started yet.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// use kubewright_runtime::operator::Operator;
/// use kubewright_testing::TestEnv;
/// use std::time::Duration;
///
/// let env = TestEnv::builder()
///     .operator(Operator::new("shop"))
///     .seed(7) // uids and generated names repeat themselves
///     .deadline(Duration::from_secs(30))
///     .embedded()
///     .start()
///     .await;
/// env.stop().await;
/// # }
/// ```
pub struct Builder {
    operator: Option<Operator>,
    mode: Option<Mode>,
    definitions: Vec<PathBuf>,
    webhooks: Vec<PathBuf>,
    seed: Option<u64>,
    deadline: Option<Duration>,
    write_budget: u64,
    refusals_fail: bool,
    controllers: Controllers,
    nodes: Option<usize>,
    limits: NamespaceLimits,
    admission: Vec<(AdmissionPlugin, bool)>,
    configure: Arc<dyn Fn(Manager) -> Manager + Send + Sync>,
    resumed: Option<Resumed>,
    external: Option<Arc<dyn Any + Send + Sync>>,
}

/// A server that an environment is built on, instead of one of its own.
pub(crate) struct Resumed {
    pub(crate) server: ApiServer,
    /// The clock of the server.
    pub(crate) clock: Clock,
    pub(crate) traffic: Traffic,
    /// The namespace of the environment that the server was forked from; `None` if nothing is installed there yet.
    pub(crate) namespace: Option<String>,
    /// How many managers were started there.
    pub(crate) starts: u64,
    /// What happens to the objects that the test writes.
    pub(crate) rewrite: Option<Rewrite>,
    /// Makes the operator of each manager that is started: what one of them remembers, the next does not know.
    pub(crate) operator: Arc<dyn Fn() -> Operator + Send + Sync>,
    /// The clock of the operator's machine.
    pub(crate) operator_clock: Clock,
    /// Whether there is a second replica, which waits for the lease.
    pub(crate) replicated: bool,
    /// Whether the operator is installed and not run.
    pub(crate) is_idle: bool,
}

impl Builder {
    pub(super) fn new() -> Self {
        Builder {
            operator: None,
            mode: None,
            definitions: Vec::new(),
            webhooks: Vec::new(),
            seed: None,
            deadline: None,
            write_budget: WRITE_BUDGET,
            refusals_fail: true,
            controllers: Controllers::all(),
            nodes: None,
            limits: NamespaceLimits::default(),
            admission: Vec::new(),
            configure: Arc::new(|manager| manager),
            resumed: None,
            external: None,
        }
    }

    /// Builds the environment on a server that exists.
    pub(crate) fn resume(mut self, resumed: Resumed) -> Self {
        self.resumed = Some(resumed);
        self.embedded()
    }

    /// The system outside the cluster that [`TestEnv::external`] returns.
    pub(crate) fn external(mut self, system: Option<Arc<dyn Any + Send + Sync>>) -> Self {
        self.external = system;
        self
    }

    /// Installs and runs this operator. Default: none; the test brings its own, or needs none.
    pub fn operator(mut self, operator: Operator) -> Self {
        self.operator = Some(operator);
        self
    }

    /// Runs on the embedded server, whatever the environment says.
    pub fn embedded(self) -> Self {
        self.mode(Mode::Embedded)
    }

    /// Where to run. Default: what the environment says.
    pub fn mode(mut self, mode: Mode) -> Self {
        self.mode = Some(mode);
        self
    }

    /// Installs the definitions in this file, or in the files of this folder; relative to the crate that is tested.
    pub fn definitions(mut self, path: impl Into<PathBuf>) -> Self {
        self.definitions.push(path.into());
        self
    }

    /// Installs the webhook configurations in this file, or in the files of this folder. Whoever they call is up to the test: see
    /// [`TestEnv::server`].
    pub fn webhooks(mut self, path: impl Into<PathBuf>) -> Self {
        self.webhooks.push(path.into());
        self
    }

    /// Makes uids, generated names and jitter repeat themselves, on the embedded server; in virtual time the clock, too, which
    /// begins at 2026-01-01T00:00:00Z.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// How long [`TestEnv::eventually`] and its kin wait. Default: 10 s, or as many seconds as `KUBEWRIGHT_TEST_DEADLINE` says. In
    /// virtual time it costs nothing.
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = Some(deadline);
        self
    }

    /// How many writes within a minute [`TestEnv::settle`] and [`TestEnv::advance`] let the manager make in virtual time before they call
    /// it a loop. Default: 1000. What the cluster's controllers write does not count.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// use kubewright_runtime::operator::Operator;
    /// use kubewright_testing::TestEnv;
    ///
    /// let builder = TestEnv::builder().operator(Operator::new("shop")).write_budget(0).embedded();
    /// let env = builder.start().await;
    /// assert_eq!(env.settle().await.writes, 0);
    /// # }
    /// ```
    pub fn write_budget(mut self, writes: u64) -> Self {
        self.write_budget = writes;
        self
    }

    /// A smaller budget of writes, if that is smaller.
    pub(crate) fn write_budget_at_most(mut self, writes: u64) -> Self {
        self.write_budget = self.write_budget.min(writes);
        self
    }

    /// Lets the test go on when the manager is refused something by its role. Default: the test fails.
    pub fn tolerate_refusals(mut self) -> Self {
        self.refusals_fail = false;
        self
    }

    /// Which of Kubernetes' own controllers run beside the operator, on the embedded server and on real binaries; a cluster has its
    /// own. Default: all of them, with one simulated node, as in a real cluster: a Deployment gets Pods, which become ready, and
    /// what an owner leaves behind is collected. With `Controllers::none()` nothing happens by itself, as in envtest.
    ///
    /// The environment is ready before they are: [`TestEnv::settle`] and [`TestEnv::eventually`] wait for what they do.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// use k8s_openapi::api::core::v1::{ConfigMap, ServiceAccount};
    /// use kubewright_testing::{ControllerName, Controllers, TestEnv};
    ///
    /// let env = TestEnv::builder().embedded().start().await;
    /// env.eventually::<ServiceAccount>("default", |_| true).await; // of every namespace
    ///
    /// let quiet = TestEnv::builder().controllers(Controllers::none()).embedded().start().await;
    /// assert!(quiet.list::<ConfigMap>().await.is_empty()); // not even kube-root-ca.crt
    ///
    /// let but_one = Controllers::all().without(ControllerName::CronJob);
    /// let env = TestEnv::builder().controllers(but_one).embedded().start().await;
    /// # drop(env);
    /// # }
    /// ```
    pub fn controllers(mut self, controllers: Controllers) -> Self {
        self.controllers = controllers;
        self
    }

    /// How many simulated nodes there are, `node-1` onward. Default: 1. A cluster has its own.
    pub fn nodes(mut self, nodes: usize) -> Self {
        self.nodes = Some(nodes);
        self
    }

    /// The namespace of the test has a `ResourceQuota` named `quota`, which is in effect from the beginning: limits by resource.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// use kubewright_testing::TestEnv;
    ///
    /// let env = TestEnv::builder().quota([("count/configmaps", "1")]).embedded().start().await;
    /// let map = |name: &str| format!("{{apiVersion: v1, kind: ConfigMap, metadata: {{name: {name}}}}}");
    /// let mut errors = Vec::new();
    /// for name in ["a", "b"] {
    ///     errors.extend(env.try_apply(map(name)).await.err());
    /// }
    /// assert!(errors[0].text().contains("exceeded quota: quota"), "{}", errors[0].text());
    /// # }
    /// ```
    pub fn quota<R: Into<String>, Q: Into<String>>(mut self, hard: impl IntoIterator<Item = (R, Q)>) -> Self {
        self.limits.quota(hard);
        self
    }

    /// Pods in the namespace of the test keep to this level; workloads whose Pods would not are warned of.
    pub fn pod_security(mut self, level: PodSecurity) -> Self {
        self.limits.pod_security(level);
        self
    }

    /// Turns an admission plugin of the embedded server on or off. Default: they are as in kube-apiserver, but for
    /// [`AdmissionPlugin::ServiceAccount`], which is off.
    ///
    /// In a cluster that plugin is on, and refuses a Pod whose account is not there. Turn it on where that matters, as for an operator that
    /// writes Pods with accounts. It is off otherwise, as in Go's envtest, because it adds a volume with a token to every Pod, and because a
    /// Pod that is written right after its namespace is refused until the namespace has its account `default`. With it on, the namespace of
    /// the test and those of [`TestEnv::create_namespace`] have that account from the beginning.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// use kubewright_testing::{AdmissionPlugin, TestEnv};
    ///
    /// let builder = TestEnv::builder().admission(AdmissionPlugin::ServiceAccount, true).embedded();
    /// let env = builder.start().await;
    /// let pod = "{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {serviceAccountName: shp, containers: [{name: a, image: b}]}}";
    /// let error = env.try_apply(pod).await.unwrap_err();
    /// assert!(error.text().contains(r#"serviceaccount "shp" not found"#), "{}", error.text());
    /// # }
    /// ```
    pub fn admission(mut self, plugin: AdmissionPlugin, is_on: bool) -> Self {
        self.admission.push((plugin, is_on));
        self
    }

    /// Changes the manager before it runs: leader election, identity, further runnables.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// use kubewright_runtime::operator::Operator;
    /// use kubewright_testing::TestEnv;
    ///
    /// let env = TestEnv::builder()
    ///     .operator(Operator::new("shop"))
    ///     .configure(|manager| manager.identity("shop-0"))
    ///     .start()
    ///     .await;
    /// # drop(env);
    /// # }
    /// ```
    pub fn configure(mut self, change: impl Fn(Manager) -> Manager + Send + Sync + 'static) -> Self {
        self.configure = Arc::new(change);
        self
    }

    /// Starts it; ready when this returns.
    #[track_caller]
    pub fn start(self) -> impl Future<Output = TestEnv> {
        let at = Location::caller();
        // Boxed: it is large, and callers hold it in futures of their own.
        or_fail(at, Box::pin(self.try_start_at(at)))
    }

    /// As [`start`](Self::start), but returns the error instead of failing the test.
    #[track_caller]
    pub fn try_start(self) -> impl Future<Output = Result<TestEnv, Error>> {
        Box::pin(self.try_start_at(Location::caller()))
    }

    async fn try_start_at(self, at: CallSite) -> Result<TestEnv, Error> {
        let mode = self.mode.clone().unwrap_or_else(Mode::from_environment);
        let extra = self.files()?;
        let mut last = self.admission.iter().rev();
        let service_accounts = last.find(|(plugin, _)| *plugin == AdmissionPlugin::ServiceAccount);
        let default_account = match service_accounts {
            Some((_, true)) => DefaultAccount::AtOnce,
            _ => DefaultAccount::Later,
        };
        let is_idle = self.resumed.as_ref().is_some_and(|resumed| resumed.is_idle);
        let (resumed, traffic, known, starts, renewed) = match self.resumed {
            Some(resumed) => (
                Some((Embedded::of(resumed.server).rewriting(resumed.rewrite), resumed.clock)),
                resumed.traffic,
                resumed.namespace,
                resumed.starts,
                Some((resumed.operator, resumed.operator_clock, resumed.replicated)),
            ),
            None => (None, Traffic::new(), None, 0, None),
        };
        let is_installed = known.is_some();
        let namespace = known.unwrap_or_else(|| {
            let random = self.seed.map_or_else(Random::from_entropy, Random::seeded);
            format!("test-{}", &random.uuid()[..5])
        });
        if let Some(journal) = traffic.journal() {
            journal.set_home(&namespace);
        }
        let installation = self.operator.as_ref().map(|operator| match mode {
            Mode::Existing => Installation::within(operator, &namespace),
            _ => Installation::of(operator),
        });
        let installation = installation.transpose()?;
        let (control_plane, clock) = if let Some((embedded, clock)) = resumed {
            (ControlPlane::Embedded(embedded), clock)
        } else {
            let clock = clock(self.seed);
            (
                ControlPlane::start(&mode, self.seed, clock, &self.admission).await?,
                clock,
            )
        };
        let client = live(control_plane.admin()).with_clock(clock);
        let objects = installation.iter().flat_map(|installation| installation.objects.iter());
        let objects: Vec<Value> = objects.chain(&extra).cloned().collect();
        if !is_installed {
            install::install(&objects, &client, control_plane.is_shared()).await?;
            let object = self.limits.object("name", &namespace);
            install::install(&[object], &client, control_plane.is_shared()).await?;
            self.limits.limit(&client, &namespace).await?;
            if default_account == DefaultAccount::AtOnce {
                give_account(&client, &namespace).await?;
            }
        }
        if control_plane.server().is_none() {
            install::served(&objects, &client).await?;
        }
        let trace = trace(&control_plane);
        if let Some(journal) = traffic.journal() {
            let trace = trace.clone();
            journal.set_trace(move || trace.count());
        }
        let env = TestEnv {
            trace,
            mapper: RestMapper::new(control_plane.admin()),
            control_plane: Some(control_plane),
            operator: self.operator,
            installation,
            extra,
            settings: Settings {
                seed: self.seed,
                clock,
                deadline: self.deadline.unwrap_or_else(deadline::of_tests),
                write_budget: self.write_budget,
                refusals_fail: self.refusals_fail,
                configure: self.configure,
                operator_clock: renewed.as_ref().map_or(clock, |(_, clock, _)| *clock),
                checks_reads: renewed.is_none(),
                default_account,
                replicated: renewed.as_ref().is_some_and(|(_, _, replicated)| *replicated),
                renewed: renewed.map(|(operator, _, _)| operator),
                controllers: match self.nodes {
                    Some(nodes) => self.controllers.nodes(nodes),
                    None => self.controllers,
                }
                .clock(clock),
                test: std::thread::current().name().unwrap_or_default().to_owned(),
            },
            client,
            namespace,
            traffic,
            manager: parking_lot::Mutex::new(None),
            standby: parking_lot::Mutex::new(None),
            controllers: parking_lot::Mutex::new(None),
            started: at,
            starts: AtomicU64::new(starts),
            external: self.external,
        };
        if env.operator.is_some() && !is_idle {
            env.try_start_manager().await?;
        }
        if env.settings.replicated {
            env.start_standby().await?;
        }
        // Started last and not waited for, so that they do not delay the test.
        env.start_controllers()?;
        Ok(env)
    }

    fn files(&self) -> Result<Vec<Value>, Error> {
        let mut objects = Vec::new();
        let wanted = self.definitions.iter().map(|path| (path, "CustomResourceDefinition"));
        let wanted = wanted.chain(self.webhooks.iter().map(|path| (path, "WebhookConfiguration")));
        for (path, kind) in wanted {
            let found = manifests::read_all(path)?;
            objects.extend(found.into_iter().filter(|object| {
                let text = object["kind"].as_str().unwrap_or_default();
                text.ends_with(kind)
            }));
        }
        Ok(objects)
    }
}

pub(super) fn namespace_object(name: &str) -> Value {
    json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } })
}

/// The clock of an environment. In virtual time a seed repeats the times, too.
fn clock(seed: Option<u64>) -> Clock {
    if seed.is_some() && crate::time::is_paused() {
        Clock::starting_at(SEEDED_EPOCH)
    } else {
        Clock::system()
    }
}

impl std::fmt::Debug for Builder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Builder")
            .field("operator", &self.operator.as_ref().map(Operator::name))
            .field("mode", &self.mode)
            .finish_non_exhaustive()
    }
}
