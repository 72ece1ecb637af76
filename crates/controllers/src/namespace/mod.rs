//! Namespaces that are being deleted: their content goes, Pods first, and then they go (D8).

mod conditions;

use std::time::Duration;

use k8s_openapi::api::core::v1::{Namespace, Pod};
use kubewright_runtime::cache::{Event, Query};
use kubewright_runtime::client::{Client, DeleteOptions, Error, Propagation};
use kubewright_runtime::clock::Clock;
use kubewright_runtime::controller::{Action, Controller, Predicate, Reconciler, Request, Result, Watch};
use kubewright_runtime::object::{Kind, ObjectKey};
use kubewright_runtime::queue::{Backoff, QueueOptions};

use crate::support::discovery;
use crate::support::{Settings, creation};
use conditions::{Findings, conditions};

const FINALIZER: &str = "kubernetes";

/// The controller.
pub(crate) fn controller(settings: &Settings) -> Controller {
    let settings = settings.clone();
    let pod_is_gone = Watch::mapped_as(Kind::of::<Pod>(), |pod: &kube::core::PartialObjectMeta<Pod>| {
        let namespace = pod.metadata.namespace.as_deref();
        namespace
            .map(|namespace| ObjectKey::cluster(namespace).into())
            .into_iter()
            .collect()
    });
    Controller::of::<Namespace>()
        .named("namespace-controller")
        .of_when(Predicate::new(|event| event.object().is_deleting()))
        .watch(
            pod_is_gone
                .metadata_only()
                .when(Predicate::new(|event| matches!(event, Event::Deleted { .. }))),
        )
        .max_concurrent_reconciles(4)
        .queue_options(QueueOptions {
            backoff: Backoff {
                base: Duration::from_millis(5),
                max: Duration::from_secs(15),
            },
            ..QueueOptions::default()
        })
        .reconcile_with(move |context| {
            let client = context.client();
            Namespaces {
                clock: settings.clock_of(&client),
                client,
            }
        })
}

struct Namespaces {
    client: Client,
    clock: Clock,
}

impl Reconciler for Namespaces {
    async fn reconcile(&self, request: Request) -> Result {
        let Some(namespace) = self.client.get_opt::<Namespace>(&request).await? else {
            return Ok(Action::done());
        };
        let finalizers = namespace
            .spec
            .as_ref()
            .and_then(|spec| spec.finalizers.clone())
            .unwrap_or_default();
        if namespace.metadata.deletion_timestamp.is_none() || !finalizers.iter().any(|own| own == FINALIZER) {
            return Ok(Action::done());
        }
        let (findings, pods_remain) = self.empty(request.name()).await;
        let mut namespace = namespace.into_owned();
        let status = namespace.status.get_or_insert_default();
        let before = status.conditions.take().unwrap_or_default();
        let after = conditions(&before, &findings, self.clock.now());
        let is_news = before != after;
        status.phase = Some("Terminating".to_owned());
        status.conditions = Some(after);
        if is_news {
            namespace = match self.client.update_status(&namespace).await {
                Ok(written) => written,
                Err(error) if error.is_not_found() => return Ok(Action::done()),
                Err(error) => return Err(error.into()),
            };
        }
        if pods_remain
            || findings.discovery.is_some()
            || !findings.failures.is_empty()
            || !findings.remaining.is_empty()
        {
            return Ok(Action::requeue());
        }
        let spec = namespace.spec.get_or_insert_default();
        spec.finalizers = Some(finalizers.into_iter().filter(|own| own != FINALIZER).collect());
        let finalize = self.client.of::<Namespace>().subresource("finalize");
        match finalize.update(&namespace).await {
            Err(error) if !error.is_not_found() => Err(error.into()),
            _ => Ok(Action::done()),
        }
    }
}

impl Namespaces {
    /// Deletes what is in a namespace; and says what is left, and whether that are Pods, for which everything else waits.
    async fn empty(&self, namespace: &str) -> (Findings, bool) {
        let mut findings = Findings::default();
        let served = match discovery::served(self.client.kube()).await {
            Ok(served) => served,
            Err(error) => {
                findings.discovery = Some((1, error.to_string()));
                return (findings, false);
            }
        };
        // What is known is deleted, whatever else there may be.
        findings.discovery = served.incomplete();
        let (pods, others): (Vec<_>, Vec<_>) = served
            .kinds
            .into_iter()
            .filter(|found| found.kind.is_namespaced() && found.can(&["delete", "list"]))
            .partition(|found| found.kind.group().is_empty() && found.kind.plural() == "pods");
        for found in pods {
            let mut of_pods = Findings::default();
            self.empty_kind(namespace, &found.kind, &mut of_pods).await;
            findings.failures.append(&mut of_pods.failures);
            if !of_pods.remaining.is_empty() || !findings.failures.is_empty() {
                return (findings, true);
            }
        }
        for found in others {
            self.empty_kind(namespace, &found.kind, &mut findings).await;
        }
        (findings, false)
    }

    async fn empty_kind(&self, namespace: &str, kind: &Kind, findings: &mut Findings) {
        if let Err(error) = self.try_empty_kind(namespace, kind, findings).await {
            let what = format!("{}.{}", kind.plural(), kind.group());
            findings.failures.push(format!("{what}: {}", creation::message(&error)));
        }
    }

    async fn try_empty_kind(&self, namespace: &str, kind: &Kind, findings: &mut Findings) -> Result<(), Error> {
        let objects = self.client.live().dynamic(kind.clone());
        let query = Query::all().in_namespace(namespace);
        let found = match objects.list(&query).await {
            // The kind is not served any more, so it has no objects.
            Err(error) if error.is_not_found() || error.code() == Some(405) => return Ok(()),
            found => found?,
        };
        if found.is_empty() {
            return Ok(());
        }
        let options = DeleteOptions {
            propagation_policy: Some(Propagation::Background),
            ..DeleteOptions::default()
        };
        for object in found
            .iter()
            .filter(|object| object.metadata.deletion_timestamp.is_none())
        {
            match objects.delete_with(object.key(), &options).await {
                Err(error) if !error.is_not_found() => return Err(error),
                _ => {}
            }
        }
        let left = objects.list(&query).await?;
        if !left.is_empty() {
            findings
                .remaining
                .insert(format!("{}.{}", kind.plural(), kind.group()), left.len());
        }
        for finalizer in left
            .iter()
            .flat_map(|object| object.metadata.finalizers.iter().flatten())
        {
            *findings.finalizers.entry(finalizer.clone()).or_default() += 1;
        }
        Ok(())
    }
}
