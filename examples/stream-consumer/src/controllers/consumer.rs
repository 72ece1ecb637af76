// SPDX-License-Identifier: Apache-2.0

//! Makes what a `Consumer` asks for: its topic on the broker, and its workers in a Deployment. A finalizer keeps the object until the
//! topic is gone.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use kubewright::apply::apps::v1::{DeploymentApply, DeploymentSpecApply};
use kubewright::apply::core::v1::{ContainerApply, EnvVarApply, PodSpecApply, PodTemplateSpecApply};
use kubewright::apply::meta::v1::{LabelSelectorApply, ObjectMetaApply};
use kubewright::k8s_openapi::api::apps::v1::Deployment;
use kubewright::prelude::*;

use crate::api::v1::{Consumer, DeletionPolicy};
use crate::broker::{Broker, BrokerError, Topic};

/// As long as an object has it, its topic may be on the broker.
pub const FINALIZER: &str = "stream.kubewright.dev/topic";

/// The broker tells nobody what happens to its topics, so they are looked after now and then.
const CHECK_PERIOD: Duration = Duration::from_mins(5);

/// Reconciles `Consumer`s.
pub struct ConsumerReconciler {
    client: Client,
    events: EventRecorder,
    broker: Arc<dyn Broker>,
}

impl ConsumerReconciler {
    /// The controller: what it reconciles, and what wakes it.
    pub fn controller(broker: Arc<dyn Broker>) -> Controller {
        Controller::of::<Consumer>()
            .owns::<Deployment>()
            .every(CHECK_PERIOD)
            .reconcile_with(move |context| ConsumerReconciler {
                client: context.client().force(),
                events: context.events(),
                broker: Arc::clone(&broker),
            })
    }

    /// The workers go first, then the topic they read, and only then the object. Until the broker has done its part the object
    /// stays, and says why.
    async fn finalize(&self, mut consumer: Consumer) -> Result {
        if !has_finalizer(&consumer, FINALIZER) {
            return Ok(Action::done());
        }
        let workers = ObjectKey::namespaced(&consumer.namespace().unwrap_or_default(), &workers_name(&consumer));
        if self.client.get_opt::<Deployment>(&workers).await?.is_some() {
            ignore_not_found(self.client.delete::<Deployment>(&workers).await)?;
        }
        let (topic, name) = (topic_name(&consumer), &consumer.spec.topic.name);
        let note = match consumer.spec.deletion_policy {
            DeletionPolicy::Retain => EventNote::normal("TopicRetained", "Finalize", format!("Topic {name:?} stays")),
            DeletionPolicy::Delete => {
                if let Err(error) = self.broker.remove(&topic, &owner(&consumer)).await {
                    let why = ConditionUpdate::is_false("TopicReady", "TopicNotRemoved").message(error.to_string());
                    let unready = ConditionUpdate::is_false("Ready", "Deleting");
                    self.report(&consumer, None, [why, unready]).await?;
                    return Err(error.into());
                }
                EventNote::normal("TopicRemoved", "Finalize", format!("Topic {name:?} is removed"))
            }
        };
        self.events.record(&consumer, note);
        remove_finalizer(&mut consumer, FINALIZER);
        self.client.update(&consumer).await?;
        Ok(Action::done())
    }

    async fn apply_workers(&self, consumer: &Consumer) -> Result<Deployment> {
        let workers = &consumer.spec.workers;
        let container = ContainerApply::new()
            .name("worker")
            .image(&workers.image)
            .env([EnvVarApply::new().name("TOPIC").value(topic_name(consumer))]);
        let template = PodTemplateSpecApply::new()
            .metadata(ObjectMetaApply::new().labels(labels(consumer)))
            .spec(PodSpecApply::new().containers([container]));
        let spec = DeploymentSpecApply::new()
            .replicas(workers.replicas)
            .selector(LabelSelectorApply::new().match_labels(labels(consumer)))
            .template(template);
        let namespace = consumer.namespace().unwrap_or_default();
        let mut wanted = DeploymentApply::namespaced(namespace, workers_name(consumer))
            .labels(labels(consumer))
            .spec(spec);
        set_controller_reference(consumer, &mut wanted)?;
        Ok(self.client.apply(&wanted).await?.object.object()?)
    }

    /// Writes the status if it says something new, and tells people of every condition that changed.
    async fn report(
        &self,
        consumer: &Consumer,
        workers: Option<&Deployment>,
        conditions: [ConditionUpdate; 2],
    ) -> Result<()> {
        let mut changed = consumer.clone();
        let status = changed.status.get_or_insert_default();
        let observed = workers.and_then(|workers| workers.status.as_ref());
        status.replicas = observed.and_then(|status| status.replicas).unwrap_or(0);
        status.ready_replicas = observed.and_then(|status| status.ready_replicas).unwrap_or(0);
        status.selector = selector(consumer);
        let now = self.client.clock().now();
        for update in conditions {
            set_condition(
                &mut status.conditions,
                &update.observed(consumer.meta().generation),
                now,
            );
        }
        if consumer.status.as_ref() == Some(status) {
            return Ok(());
        }
        let before = consumer.status.as_ref().map(|status| status.conditions.as_slice());
        for condition in &status.conditions {
            let known = before.and_then(|before| find_condition(before, &condition.type_));
            let is_new =
                known.is_none_or(|known| (&known.status, &known.reason) != (&condition.status, &condition.reason));
            if is_new && let Some(note) = note(condition) {
                self.events.record(consumer, note);
            }
        }
        self.client.update_status(&changed).await?;
        Ok(())
    }
}

#[rbac(groups = "apps", resources = "deployments", verbs = "create, patch, delete")]
#[rbac(groups = "stream.kubewright.dev", resources = "consumers", verbs = "update")]
#[rbac(groups = "stream.kubewright.dev", resources = "consumers/status", verbs = "update")]
impl Reconciler for ConsumerReconciler {
    async fn reconcile(&self, request: Request) -> Result {
        let Some(consumer) = self.client.get_opt::<Consumer>(&request).await? else {
            return Ok(Action::done());
        };
        let mut consumer = consumer.into_owned();
        if consumer.metadata.deletion_timestamp.is_some() {
            return self.finalize(consumer).await;
        }
        // The finalizer is added before the topic is made, so that no topic is left behind.
        if add_finalizer(&mut consumer, FINALIZER) {
            consumer = self.client.update(&consumer).await?;
        }
        let wanted = Topic {
            owner: owner(&consumer),
            partitions: consumer.spec.topic.partitions,
            retention_seconds: consumer.spec.topic.retention_seconds,
        };
        if let Err(error) = self.broker.ensure(&topic_name(&consumer), &wanted).await {
            // Workers that run go on; none are started for a topic that is not there.
            let key = ObjectKey::namespaced(&consumer.namespace().unwrap_or_default(), &workers_name(&consumer));
            let workers = self.client.get_opt::<Deployment>(&key).await?;
            let unready = ConditionUpdate::is_false("Ready", "TopicNotReady");
            self.report(&consumer, workers.as_deref(), [topic_trouble(&error), unready])
                .await?;
            return Err(error.into());
        }
        let workers = self.apply_workers(&consumer).await?;
        let running = workers
            .status
            .as_ref()
            .and_then(|status| status.ready_replicas)
            .unwrap_or(0);
        let asked = consumer.spec.workers.replicas;
        let text = format!("{running} of {asked} workers run");
        let ready = if running >= asked {
            ConditionUpdate::is_true("Ready", "WorkersRunning")
        } else {
            ConditionUpdate::is_false("Ready", "WorkersMissing")
        };
        let topic = ConditionUpdate::is_true("TopicReady", "TopicReady");
        self.report(&consumer, Some(&workers), [topic, ready.message(text)])
            .await?;
        Ok(Action::done())
    }
}

fn topic_trouble(error: &BrokerError) -> ConditionUpdate {
    let reason = match error {
        BrokerError::Unavailable(_) => "BrokerUnavailable",
        BrokerError::Taken(_) => "TopicTaken",
        BrokerError::Refused(_) => "BrokerRefused",
    };
    ConditionUpdate::is_false("TopicReady", reason).message(error.to_string())
}

/// What people are told when a condition changes. Workers that start and stop are the Deployment's news.
fn note(condition: &Condition) -> Option<EventNote> {
    let (is_true, reason, text) = (condition.status == "True", &condition.reason, &condition.message);
    match condition.type_.as_str() {
        "TopicReady" if is_true => Some(EventNote::normal(reason, "Reconcile", "The topic is ready")),
        "TopicReady" => Some(EventNote::warning(reason, "Reconcile", text)),
        "Ready" if is_true => Some(EventNote::normal(reason, "Reconcile", text)),
        _ => None,
    }
}

/// The name on the broker, which all namespaces share.
fn topic_name(consumer: &Consumer) -> String {
    format!(
        "{}.{}",
        consumer.namespace().unwrap_or_default(),
        consumer.spec.topic.name
    )
}

fn owner(consumer: &Consumer) -> String {
    consumer.uid().unwrap_or_default()
}

fn workers_name(consumer: &Consumer) -> String {
    format!("{}-workers", consumer.name_any())
}

fn labels(consumer: &Consumer) -> BTreeMap<&'static str, String> {
    BTreeMap::from([
        ("app.kubernetes.io/instance", consumer.name_any()),
        ("app.kubernetes.io/name", "stream-consumer".to_owned()),
    ])
}

/// The labels of the workers as one text, as the scale subresource shows it.
fn selector(consumer: &Consumer) -> String {
    let labels = labels(consumer);
    let pairs: Vec<String> = labels.iter().map(|(name, value)| format!("{name}={value}")).collect();
    pairs.join(",")
}
