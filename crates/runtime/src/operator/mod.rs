//! One value describes an operator: what it reconciles, what it reads, what it may do. Built without I/O.
//! Running it, describing it and testing it are three readings of that value, so they cannot disagree.

mod describe;
mod main;

use std::fmt;
use std::sync::Arc;

use crate::cache::Index;
use crate::controller::Controller;
use crate::informer::{DeclarationError, Declarations, InformerOptions};
use crate::lease::ElectionOptions;
use crate::manager::{Manager, ManagerError, Runnable};
use crate::object::{Kind, Object};
use crate::stop::Stop;

pub use describe::{ControllerDescription, Description, Rule, WatchDescription};
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
    controllers: Vec<Controller>,
    runnables: Vec<(String, Arc<AddRunnable>)>,
    declarations: Declarations,
    mistakes: Vec<DeclarationError>,
    rules: Vec<Rule>,
}

impl Operator {
    /// An operator that does nothing yet.
    pub fn new(name: impl Into<String>) -> Self {
        Operator {
            name: name.into(),
            controllers: Vec::new(),
            runnables: Vec::new(),
            declarations: Declarations::default(),
            mistakes: Vec::new(),
            rules: Vec::new(),
        }
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

    /// Objects of this kind are read from the cache.
    pub fn reads<K: Object>(mut self) -> Self {
        self.declarations.reads(Kind::of::<K>());
        self
    }

    /// How objects of this kind are cached: namespaces, selectors, transform, resync.
    pub fn cached<K: Object>(mut self, options: InformerOptions) -> Self {
        if let Err(mistake) = self.declarations.configure(Kind::of::<K>(), options) {
            self.mistakes.push(mistake);
        }
        self
    }

    /// Makes objects of this kind findable by values.
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
        let mut manager = Manager::new();
        *manager.declarations() = self.declarations.clone();
        for controller in &self.controllers {
            manager = manager.controller(controller.clone());
        }
        for (_, add) in &self.runnables {
            manager = add(manager);
        }
        Ok(manager)
    }

    /// Runs until asked to stop; on one replica at a time, if there is an election.
    ///
    /// ```no_run
    /// # async fn example(operator: kubewright_runtime::operator::Operator, kube: kube::Client) -> Result<(), kubewright_runtime::manager::ManagerError> {
    /// let (stopper, stop) = kubewright_runtime::stop::Stopper::new();
    /// operator.run(kube, None, stop).await?;
    /// # drop(stopper);
    /// # Ok(())
    /// # }
    /// ```
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
            .finish_non_exhaustive()
    }
}
