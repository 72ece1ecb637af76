//! What is explored: an operator, steps and invariants.

use std::pin::Pin;
use std::sync::Arc;

use kubewright_runtime::operator::Operator;

use super::accepted::Accepted;
use super::base::Base;
use super::cluster::Cluster;
use super::external::ExternalSystem;
use crate::{Builder, TestEnv};

type StepFuture = Pin<Box<dyn Future<Output = ()>>>;

/// Everything that a run needs to know. Threads share it.
#[derive(Clone)]
pub(super) struct Scenario {
    pub(super) operator: Arc<dyn Fn() -> Operator + Send + Sync>,
    /// The system outside the cluster, which the operator of a run works with.
    pub(super) external: Option<ExternalSystem>,
    pub(super) environment: Arc<dyn Fn(Builder) -> Builder + Send + Sync>,
    pub(super) steps: Vec<Step>,
    pub(super) invariants: Vec<Invariant>,
    pub(super) seed: u64,
    /// Differences that are let pass: runs go on after them.
    pub(super) accepted: Accepted,
    /// Where runs begin, whatever their steps are.
    pub(super) base: Base,
}

#[derive(Clone)]
pub(super) struct Step {
    pub(super) name: String,
    pub(super) action: Arc<dyn Fn(Arc<TestEnv>) -> StepFuture + Send + Sync>,
}

#[derive(Clone)]
pub(super) struct Invariant {
    pub(super) name: String,
    pub(super) holds: Arc<dyn Fn(&Cluster) -> bool + Send + Sync>,
}

impl Scenario {
    /// The same with some of the steps only, in the order of the scenario.
    pub(super) fn with_steps(&self, names: &[String]) -> Self {
        let mut scenario = self.clone();
        scenario.steps.retain(|step| names.contains(&step.name));
        scenario
    }

    pub(super) fn position(&self, step: &str) -> Option<usize> {
        self.steps.iter().position(|own| own.name == step)
    }
}
