//! One value describes an operator: what it reconciles, what it reads, what it may do. Built without I/O.
//! The same value is run, described and tested, so the three cannot disagree.

mod cluster_version;
mod definition;
mod describe;
mod extension;
mod main;
mod webhooks;

use std::fmt;
use std::sync::Arc;

use crate::cache::Index;
use crate::controller::Controller;
use crate::conversion::Conversion;
use crate::extension::ApiExtension;
use crate::informer::{DeclarationError, Declarations, InformerOptions};
use crate::lease::ElectionOptions;
use crate::manager::{Manager, ManagerError, Runnable};
use crate::object::{Kind, Object};
use crate::policy::PolicyDescription;
use crate::stop::Stop;
use crate::webhook::Webhook;

pub use cluster_version::{SUPPORTED_MINORS, cluster_warning, version_warning};
pub use definition::describe_kind;
pub use kubewright_description::{
    ControllerDescription, ConversionDescription, DefinitionDescription, DefinitionProblem, Description, Rule, Wakes,
    WatchDescription,
};
pub use main::MainError;

type AddRunnable = dyn Fn(Manager) -> Manager + Send + Sync;

/// Everything an operator is.
///
/// ```
/// use k8s_openapi::api::apps::v1::Deployment;
/// use k8s_openapi::api::core::v1::{ConfigMap, Secret};
/// use kubewright_runtime::controller::{Action, Controller, Request};
/// use kubewright_runtime::operator::{Operator, Rule};
///
/// let operator = Operator::new("shop")
///     .controller(
///         Controller::of::<Deployment>()
///             .owns::<ConfigMap>()
///             .reconcile_with(|_| |_: Request| async { Ok(Action::done()) }),
///     )
///     .reads::<Secret>()
///     .rule(Rule::new(["apps"], ["deployments"], ["patch"]));
///
/// let description = operator.describe();
/// assert_eq!(description.controllers[0].name, "deployment");
/// assert!(description.rules.contains(&Rule::new([""], ["configmaps", "secrets"], ["get", "list", "watch"])));
/// ```
#[derive(Clone)]
pub struct Operator {
    name: String,
    lease: Option<String>,
    controllers: Vec<Controller>,
    runnables: Vec<(String, Arc<AddRunnable>)>,
    webhooks: Vec<Webhook>,
    conversions: Vec<Conversion>,
    definitions: Vec<definition::Define>,
    extension: Option<Arc<dyn ApiExtension>>,
    policies: Vec<PolicyDescription>,
    declarations: Declarations,
    mistakes: Vec<DeclarationError>,
    rules: Vec<Rule>,
}

impl Operator {
    /// An operator that does nothing yet.
    pub fn new(name: impl Into<String>) -> Self {
        Operator {
            name: name.into(),
            lease: None,
            controllers: Vec::new(),
            runnables: Vec::new(),
            webhooks: Vec::new(),
            conversions: Vec::new(),
            definitions: Vec::new(),
            extension: None,
            policies: Vec::new(),
            declarations: Declarations::default(),
            mistakes: Vec::new(),
            rules: Vec::new(),
        }
    }

    /// Names the Lease by which its replicas elect their leader. Default: the operator's own name. `--leader-election-id` wins.
    ///
    /// An operator that replaces another takes over its lease, so that the two never act at once.
    pub fn leader_election_id(mut self, lease: impl Into<String>) -> Self {
        self.lease = Some(lease.into());
        self
    }

    /// Adds a controller.
    pub fn controller(mut self, controller: Controller) -> Self {
        controller.declare(&mut self.declarations);
        self.controllers.push(controller);
        self
    }

    /// Adds something else that runs on the leader.
    pub fn runnable(mut self, name: impl Into<String>, runnable: impl Runnable + Clone + Sync) -> Self {
        let name = name.into();
        let add = {
            let name = name.clone();
            move |manager: Manager| manager.runnable(name.clone(), runnable.clone())
        };
        self.runnables.push((name, Arc::new(add)));
        self
    }

    /// Adds webhooks. They answer on every replica.
    pub fn webhook(mut self, webhook: impl Into<Webhook>) -> Self {
        let mut webhook = webhook.into();
        for other in &mut self.webhooks {
            webhook.tell_apart(other);
        }
        self.webhooks.push(webhook);
        self
    }

    /// Converts a kind between its versions.
    pub fn conversion(mut self, conversion: impl Into<Conversion>) -> Self {
        self.conversions.push(conversion.into());
        self
    }

    /// Brings an admission policy with it, which the API server evaluates: see [`policy`](crate::policy). It is installed with the operator
    /// and stays in effect while the operator does not run.
    pub fn policy(mut self, policy: impl Into<PolicyDescription>) -> Self {
        self.policies.push(policy.into());
        self
    }

    /// Objects of this kind are read from the cache.
    pub fn reads<K: Object>(mut self) -> Self {
        self.declarations.reads(Kind::of::<K>());
        self
    }

    /// Objects of this kind are read from the server whenever they are read, and not cached.
    pub fn reads_live<K: Object>(mut self) -> Self {
        self.declarations.reads_live(Kind::of::<K>());
        self
    }

    /// How objects of this kind are cached: namespaces, selectors, transform, resync.
    pub fn cached<K: Object>(mut self, options: InformerOptions) -> Self {
        if let Err(mistake) = self.declarations.configure(Kind::of::<K>(), options) {
            self.mistakes.push(mistake);
        }
        self
    }

    /// Makes objects of this kind findable by values, for what is no controller. A controller declares its indexes itself, with
    /// [`Controller::index`].
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::Pod;
    /// use kubewright_runtime::operator::Operator;
    ///
    /// let node = |pod: &Pod| pod.spec.iter().filter_map(|spec| spec.node_name.clone()).collect();
    /// let operator = Operator::new("shop").reads::<Pod>().index("node", node);
    /// # drop(operator);
    /// ```
    pub fn index<K: Object>(
        mut self,
        name: impl Into<Arc<str>>,
        values: impl Fn(&K) -> Vec<String> + Send + Sync + 'static,
    ) -> Self {
        self.declarations.index(Kind::of::<K>(), Index::of(name, values));
        self
    }

    /// Only these namespaces are cached, unless a kind says otherwise.
    pub fn namespaces(mut self, namespaces: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.declarations.namespaces(namespaces);
        self
    }

    /// What it may do beyond reading what it declares.
    pub fn rule(mut self, rule: Rule) -> Self {
        self.rules.push(rule);
        self
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// A manager of all that, to be configured further and run.
    pub fn manager(&self) -> Result<Manager, ManagerError> {
        if let Some(mistake) = self.mistakes.first() {
            return Err(mistake.clone().into());
        }
        crate::webhook::check(&self.webhooks)?;
        let mut manager = Manager::new();
        *manager.declarations() = self.declarations.clone();
        for controller in &self.controllers {
            manager = manager.controller(controller.clone());
        }
        for (_, add) in &self.runnables {
            manager = add(manager);
        }
        for webhook in &self.webhooks {
            manager = manager.webhook(webhook.clone());
        }
        for conversion in &self.conversions {
            manager = manager.conversion(conversion.clone());
        }
        Ok(manager)
    }

    /// Runs until asked to stop; on one replica at a time, if there is an election.
    pub async fn run(
        &self,
        kube: kube::Client,
        election: Option<ElectionOptions>,
        stop: Stop,
    ) -> Result<(), ManagerError> {
        let mut manager = self.manager()?;
        if let Some(election) = election {
            manager = manager.leader_election(election);
        }
        manager.run(kube, stop).await
    }
}

impl fmt::Debug for Operator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Operator")
            .field("name", &self.name)
            .field("controllers", &self.controllers)
            .field("webhooks", &self.webhooks)
            .finish_non_exhaustive()
    }
}
