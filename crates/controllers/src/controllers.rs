//! Which controllers run, and what they need to know: one value, read by tests and by the command line.

use std::collections::BTreeSet;
use std::future::Future;
use std::str::FromStr;

use jiff::Timestamp;
use k8s_openapi::api::apps::v1::ReplicaSet;
use k8s_openapi::api::core::v1::Pod;
use kubewright_runtime::clock::Clock;
use kubewright_runtime::manager::{Manager, ManagerError};
use kubewright_runtime::operator::Operator;
use kubewright_runtime::random::Random;
use kubewright_runtime::stop::Stop;

use crate::certificates::SigningAuthority;
use crate::kubelet::process::Processes;
use crate::names::{ControllerName, UnknownController};
use crate::support::events::EventBroadcaster;
use crate::support::{Settings, index};
use crate::{
    certificates, cronjob, deployment, endpointslice, gc, job, kubelet, namespace, node_lifecycle, pod_gc,
    policy_status, replicaset, resource_quota, role_aggregation, root_ca, scheduler, service_account, volume_binder,
    volume_protection,
};

/// The controllers of a cluster: all, none or some of them.
///
/// They act as the user of the client that they are given: an administrator in the embedded cluster.
///
/// ```
/// use kubewright_controllers::{ControllerName, Controllers};
///
/// assert!(Controllers::all().contains(ControllerName::Job));
/// assert!(Controllers::none().is_empty());
/// let two = Controllers::only([ControllerName::GarbageCollector, ControllerName::Deployment]);
/// assert_eq!(two, "gc,deployment".parse()?);
/// assert!(!Controllers::parse("*,-job")?.contains(ControllerName::Job));
///
/// let most = Controllers::all().without(ControllerName::Job).with(ControllerName::Job).seed(7).root_ca("");
/// assert_eq!(most.names().count(), ControllerName::all().count());
/// assert!(ControllerName::all().any(|name| name.as_str() == "gc"));
/// let most = most.epoch("2026-01-01T00:00:00Z".parse().unwrap());
/// assert!(most.manager().is_ok());
/// # Ok::<(), kubewright_controllers::UnknownController>(())
/// ```
#[derive(Clone, Debug)]
pub struct Controllers {
    names: BTreeSet<ControllerName>,
    settings: Settings,
    seed: Option<u64>,
    epoch: Option<Timestamp>,
}

/// Equal if the same controllers run.
impl PartialEq for Controllers {
    fn eq(&self, other: &Self) -> bool {
        self.names == other.names
    }
}

impl Eq for Controllers {}

impl Default for Controllers {
    /// All of them.
    fn default() -> Self {
        Self::all()
    }
}

impl Controllers {
    /// All controllers, as in a real cluster, with one simulated node.
    pub fn all() -> Self {
        Self::only(ControllerName::all())
    }

    /// No controllers, as in Go's test environment: nothing happens by itself.
    pub fn none() -> Self {
        Self::only([])
    }

    /// These controllers.
    pub fn only(names: impl IntoIterator<Item = ControllerName>) -> Self {
        Controllers {
            names: names.into_iter().collect(),
            settings: Settings::default(),
            seed: None,
            epoch: None,
        }
    }

    /// Reads a list as kube-controller-manager's `--controllers` takes it: `*` for all, a name to switch one on, a name after
    /// a dash to switch one off. `all` and `none` are understood too, and a list of nothing but dashes leaves the others on.
    ///
    /// ```
    /// use kubewright_controllers::{ControllerName, Controllers};
    ///
    /// assert_eq!(Controllers::parse("none")?, Controllers::none());
    /// assert!(Controllers::parse("-gc")?.contains(ControllerName::Job));
    /// assert!(Controllers::parse("jobs").unwrap_err().to_string().contains("did you mean \"job\"?"));
    /// # Ok::<(), kubewright_controllers::UnknownController>(())
    /// ```
    pub fn parse(list: &str) -> Result<Self, UnknownController> {
        let (mut on, mut off) = (BTreeSet::new(), BTreeSet::new());
        let (mut all, mut only_off) = (false, true);
        for word in list.split(',').map(str::trim).filter(|word| !word.is_empty()) {
            if let Some(name) = word.strip_prefix('-') {
                off.insert(name.parse::<ControllerName>()?);
                continue;
            }
            only_off = false;
            match word {
                "*" | "all" => all = true,
                "none" => {}
                name => {
                    on.insert(name.parse::<ControllerName>()?);
                }
            }
        }
        let rest = ControllerName::all().filter(|name| all || (only_off && !off.is_empty()) || on.contains(name));
        // As upstream, what is named to be on is on, also if it is named to be off.
        Ok(Self::only(rest.filter(|name| on.contains(name) || !off.contains(name))))
    }

    /// The same and this one.
    pub fn with(mut self, name: ControllerName) -> Self {
        self.names.insert(name);
        self
    }

    /// The same but this one.
    pub fn without(mut self, name: ControllerName) -> Self {
        self.names.remove(&name);
        self
    }

    /// Whether this one runs.
    pub fn contains(&self, name: ControllerName) -> bool {
        self.names.contains(&name)
    }

    /// The controllers that run.
    pub fn names(&self) -> impl Iterator<Item = ControllerName> + '_ {
        self.names.iter().copied()
    }

    /// Whether none runs.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// How many simulated nodes there are, `node-1` onward (1 by default). They are made when the controllers start, unless
    /// nodes of these names exist; Pods live on every node of the cluster, also on those that others make.
    pub fn nodes(mut self, nodes: usize) -> Self {
        self.settings.nodes = nodes;
        self
    }

    /// Seeds everything that is random, so that a run repeats itself.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// What the clock shows when the controllers start (the machine's time by default). Give the same as to the server, at the
    /// same moment: ages and deadlines are differences between its times and theirs.
    pub fn epoch(mut self, epoch: Timestamp) -> Self {
        self.epoch = Some(epoch);
        self
    }

    /// A clock that runs already, for those who start controllers later than the server, or again.
    pub fn clock(mut self, clock: Clock) -> Self {
        self.settings.clock = Some(clock);
        self
    }

    /// The certificates in PEM that `kube-root-ca.crt` shows Pods (none by default: there is a key, and it is empty).
    pub fn root_ca(mut self, pem: impl Into<String>) -> Self {
        self.settings.root_ca = pem.into();
        self
    }

    /// The authority that signs certificates for those who ask through the API; without one, nothing is signed. It has to be one
    /// whose certificates the API server accepts from clients.
    ///
    /// ```
    /// use kubewright_apiserver::{ApiServer, Options};
    /// use kubewright_controllers::{Controllers, SigningAuthority};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let listener = ApiServer::new(Options::new()).listen(0).await?;
    /// let (certificate, key) = listener.authority_pem();
    /// let controllers = Controllers::all().signing_authority(SigningAuthority::new(certificate, key)?);
    /// # drop(controllers);
    /// # Ok(())
    /// # }
    /// ```
    pub fn signing_authority(mut self, authority: SigningAuthority) -> Self {
        self.settings.signing_authority = Some(authority);
        self
    }

    /// The authority that signs, unless [`signing_authority`](Self::signing_authority) has named one.
    pub fn or_signing_authority(mut self, authority: &SigningAuthority) -> Self {
        self.settings.signing_authority.get_or_insert_with(|| authority.clone());
        self
    }

    /// How many Pods that have ended are kept before the oldest are deleted: 12500 by default, and all of them if 0. It is
    /// kube-controller-manager's `--terminated-pod-gc-threshold`.
    pub fn terminated_pod_gc_threshold(mut self, pods: usize) -> Self {
        self.settings.most_ended = pods;
        self
    }

    /// Makes containers whose images are loaded processes of this machine. Off by default: read
    /// [what that means](crate::process) first.
    ///
    /// ```
    /// use kubewright_controllers::Controllers;
    /// use kubewright_controllers::process::Processes;
    ///
    /// fn with_processes(processes: Processes) -> Controllers {
    ///     Controllers::all().processes(processes)
    /// }
    /// # let _ = with_processes;
    /// ```
    pub fn processes(mut self, processes: Processes) -> Self {
        self.settings.processes = Some(processes);
        self
    }

    /// The controllers as an operator: to describe them, or to run them beside others.
    pub fn operator(&self) -> Operator {
        let settings = &Settings {
            expects_nodes: self.contains(ControllerName::Kubelet) && self.settings.nodes > 0,
            events: EventBroadcaster::default(),
            random: self.settings.random.clone().or_else(|| self.seed.map(Random::seeded)),
            ..self.settings.clone()
        };
        let mut operator = settings.events.add_to(Operator::new("controllers"));
        let any = |names: &[ControllerName]| names.iter().any(|name| self.contains(*name));
        let (sets, deployments) = (ControllerName::ReplicaSet, ControllerName::Deployment);
        if any(&[sets, deployments, ControllerName::Job]) {
            operator = operator.index::<Pod>(index::CONTROLLER, index::controller);
        }
        if any(&[sets, deployments]) {
            operator = operator.index::<ReplicaSet>(index::CONTROLLER, index::controller);
        }
        for name in self.names() {
            operator = match name {
                ControllerName::GarbageCollector => gc::add_to(operator, settings),
                ControllerName::Namespace => operator.controller(namespace::controller(settings)),
                ControllerName::ServiceAccount => operator.controller(service_account::controller()),
                ControllerName::RootCa => root_ca::add_to(operator, settings),
                ControllerName::ClusterRoleAggregation => role_aggregation::add_to(operator),
                ControllerName::ReplicaSet => operator.controller(replicaset::controller(settings)),
                ControllerName::Deployment => deployment::add_to(operator, settings),
                ControllerName::Job => operator.controller(job::controller(settings)),
                ControllerName::TtlAfterFinished => operator.controller(job::ttl::controller(settings)),
                ControllerName::Scheduler => scheduler::add_to(operator, settings),
                ControllerName::Kubelet => kubelet::add_to(operator, settings),
                ControllerName::CronJob => operator.controller(cronjob::controller(settings)),
                ControllerName::EndpointSlice => endpointslice::add_to(operator, settings),
                ControllerName::NodeLifecycle => node_lifecycle::add_lifecycle(operator, settings),
                ControllerName::TaintEviction => node_lifecycle::add_eviction(operator, settings),
                ControllerName::PodGarbageCollector => pod_gc::add_to(operator, settings),
                ControllerName::ResourceQuota => resource_quota::add_to(operator, settings),
                ControllerName::ValidatingAdmissionPolicyStatus => operator.controller(policy_status::controller()),
                ControllerName::CsrApproving => operator.controller(certificates::approving()),
                ControllerName::CsrSigning => operator.controller(certificates::signing(settings)),
                ControllerName::CsrCleaner => operator.controller(certificates::cleaning(settings)),
                ControllerName::VolumeBinder => volume_binder::add_to(operator, settings),
                ControllerName::ClaimProtection => operator.controller(volume_protection::claims()),
                ControllerName::VolumeProtection => operator.controller(volume_protection::volumes()),
                ControllerName::AttributesClassProtection => {
                    operator.controller(volume_protection::attributes_classes())
                }
            };
        }
        operator
    }

    /// The controllers in a manager, for those who want to set more of it, or look at its counters.
    ///
    /// ```
    /// use kubewright_controllers::Controllers;
    /// use kubewright_runtime::clock::Clock;
    ///
    /// let epoch = "2026-03-01T12:00:00Z".parse()?;
    /// let controllers = Controllers::all().nodes(3).seed(7).root_ca("-----BEGIN CERTIFICATE-----\n…");
    /// let first = controllers.clone().epoch(epoch).manager()?;
    /// let later = controllers.clock(Clock::starting_at(epoch)).manager()?;
    /// # drop((first, later));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn manager(&self) -> Result<Manager, ManagerError> {
        let mut started = self.clone();
        if let (None, Some(epoch)) = (started.settings.clock, started.epoch) {
            started.settings.clock = Some(Clock::starting_at(epoch));
        }
        let random = self.seed.map_or_else(Random::from_entropy, Random::seeded);
        started.settings.random = Some(random.clone());
        let mut manager = started.operator().manager()?.random(random);
        if let Some(clock) = started.settings.clock {
            manager = manager.clock(clock);
        }
        Ok(manager.identity("kubewright-controllers"))
    }

    /// Runs the controllers until asked to stop.
    pub fn run(&self, kube: kube::Client, stop: Stop) -> impl Future<Output = Result<(), ManagerError>> + Send + use<> {
        let manager = self.manager();
        async move { manager?.run(kube, stop).await }
    }
}

impl FromStr for Controllers {
    type Err = UnknownController;

    fn from_str(list: &str) -> Result<Self, UnknownController> {
        Self::parse(list)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(list: &str) -> Vec<&'static str> {
        Controllers::parse(list)
            .unwrap()
            .names()
            .map(ControllerName::as_str)
            .collect()
    }

    #[test]
    fn a_list_is_read_as_kube_controller_manager_reads_it() {
        assert_eq!(parsed("*"), parsed("all"));
        assert_eq!(parsed("*").len(), ControllerName::all().count());
        assert_eq!(parsed("deployment, gc"), ["gc", "deployment"]);
        assert!(!parsed("*,-job").contains(&"job") && parsed("*,-job").contains(&"gc"));
        assert_eq!(parsed("gc,-gc"), ["gc"]);
        assert_eq!(parsed("-job"), parsed("*,-job"));
        assert!(parsed("none").is_empty() && parsed("").is_empty());
    }

    #[test]
    fn a_switch_for_an_unknown_controller_is_refused() {
        let error = Controllers::parse("*,-deploymnt").unwrap_err();
        assert_eq!(error.nearest, Some(ControllerName::Deployment));
    }
}
