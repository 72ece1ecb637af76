//! A small operator: every `Garden` gets a `ConfigMap` with as many plants as it asks for, and says when it has it.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResource;
use kubewright_runtime::client::Client;
use kubewright_runtime::client::helpers::{ConditionUpdate, set_condition, set_controller_reference};
use kubewright_runtime::controller::{Action, Context, Controller, Failure, Reconciler, Request};
use kubewright_runtime::events::{EventNote, EventRecorder};
use kubewright_runtime::operator::{Operator, Rule};
use kubewright_runtime::webhook::{AdmissionRequest, FailurePolicy, Rejection, Validator, Warnings, Webhook};
use kubewright_testing::TestEnv;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(CustomResource, JsonSchema, Serialize, Deserialize, Clone, Debug, Default)]
#[kube(
    group = "example.com",
    version = "v1",
    kind = "Garden",
    namespaced,
    status = "GardenStatus"
)]
pub(crate) struct GardenSpec {
    pub(crate) plants: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) gardener: Option<String>,
}

#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, Default)]
pub(crate) struct GardenStatus {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) conditions: Vec<Condition>,
}

pub(crate) const SAMPLE: &str =
    "{apiVersion: example.com/v1, kind: Garden, metadata: {name: roses}, spec: {plants: 2}}";

struct Gardener {
    client: Client,
    events: EventRecorder,
}

impl Reconciler for Gardener {
    async fn reconcile(&self, request: Request) -> Result<Action, Failure> {
        let Some(garden) = self.client.get_opt::<Garden>(&request).await? else {
            return Ok(Action::done());
        };
        // What is being deleted gets nothing new: its plants may be gone before it.
        if garden.metadata.deletion_timestamp.is_some() {
            return Ok(Action::done());
        }
        if garden.spec.plants > 100 {
            return Err(Failure::message("the beds are full"));
        }
        let mut wanted = ConfigMap::default();
        wanted.metadata.namespace.clone_from(&garden.metadata.namespace);
        wanted.metadata.name.clone_from(&garden.metadata.name);
        let plants = (0..garden.spec.plants).map(|number| (format!("plant-{number}"), "green".to_owned()));
        wanted.data = Some(plants.collect::<BTreeMap<_, _>>());
        set_controller_reference(&*garden, &mut wanted)?;
        let applied = self.client.apply(&wanted).await?;
        if applied.outcome == kubewright_runtime::client::Outcome::Created {
            let text = format!("planted {}", garden.spec.plants);
            self.events
                .record(&*garden, EventNote::normal("Planted", "Plant", text));
        }
        let mut changed = garden.into_owned();
        let status = changed.status.get_or_insert_default();
        let ready = ConditionUpdate::is_true("Ready", "Planted");
        if set_condition(&mut status.conditions, &ready, self.client.clock().now()) {
            self.client.update_status(&changed).await?;
        }
        Ok(Action::done())
    }
}

fn controller() -> Controller {
    let new = |context: &Context| Gardener {
        client: context.client(),
        events: context.events(),
    };
    Controller::of::<Garden>().owns::<ConfigMap>().reconcile_with(new)
}

/// Without webhooks.
pub(crate) fn operator() -> Operator {
    without_status().rule(Rule::new(["example.com"], ["gardens/status"], ["update"]))
}

/// With a role that lacks what the last step needs.
pub(crate) fn without_status() -> Operator {
    Operator::new("garden")
        .resource::<Garden>()
        .controller(controller())
        .rule(Rule::new([""], ["configmaps"], ["create", "patch"]))
}

/// With webhooks.
pub(crate) fn operator_with_webhooks() -> Operator {
    operator_whose_webhooks(FailurePolicy::Fail)
}

/// With webhooks without which this happens.
pub(crate) fn operator_whose_webhooks(policy: FailurePolicy) -> Operator {
    let webhook = Webhook::of::<Garden>()
        .defaulter(|garden: &mut Garden, _: &AdmissionRequest| {
            garden.spec.gardener.get_or_insert_with(|| "somebody".to_owned());
            Ok(())
        })
        .validator(Superstition)
        .settings(|settings| settings.failure_policy(policy));
    operator().webhook(webhook)
}

struct Superstition;

impl Superstition {
    fn judge(garden: &Garden) -> Result<Warnings, Rejection> {
        match garden.spec.plants {
            13 => Err(Rejection::denied("thirteen brings bad luck")),
            _ => Ok(Warnings::none()),
        }
    }
}

impl Validator<Garden> for Superstition {
    async fn validate_create(&self, garden: &Garden, _: &AdmissionRequest) -> Result<Warnings, Rejection> {
        Self::judge(garden)
    }

    async fn validate_update(&self, _: &Garden, new: &Garden, _: &AdmissionRequest) -> Result<Warnings, Rejection> {
        Self::judge(new)
    }
}

/// An environment for what is possible on the embedded server only.
#[track_caller]
pub(crate) fn embedded(operator: Operator) -> impl Future<Output = TestEnv> {
    TestEnv::builder().operator(operator).embedded().start()
}
