//! The controller of claims.

use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim, Pod};
use k8s_openapi::api::storage::v1::StorageClass;
use kubewright_runtime::cache::Query;
use kubewright_runtime::client::Client;
use kubewright_runtime::controller::{Action, Controller, Reconciler, Request, Result};
use kubewright_runtime::events::EventNote;
use kubewright_runtime::object::{ObjectKey, View};

use super::binding::{self, BIND_COMPLETED, has_annotation, volume_name};
use super::claim_plan::{self, ClaimPlan, Surroundings};
use super::{COMPONENT, provisioning};
use crate::support::events::EventRecorder;
use crate::support::{Settings, pods};
use crate::volume_protection::claims_of;

/// The controller.
pub(super) fn controller(settings: &Settings) -> Controller {
    let settings = settings.clone();
    Controller::of::<PersistentVolumeClaim>()
        .named("persistentvolume-binder-controller")
        .watches_with::<PersistentVolume, _>(wakes_by_volume)
        .watches_with::<StorageClass, _>(|client, _| unbound(client))
        .watches::<Pod>(|pod| {
            let namespace = pod.metadata.namespace.as_deref().unwrap_or_default();
            let claims = claims_of(pod).into_iter();
            claims
                .map(|claim| ObjectKey::namespaced(namespace, &claim).into())
                .collect()
        })
        .reconcile_with(move |context| {
            let client = context.client();
            Claims {
                events: settings.recorder(COMPONENT, &client),
                client,
            }
        })
}

/// A volume wakes the claim that it names, those that name it, and those that might get it.
async fn wakes_by_volume(client: Client, volume: View<PersistentVolume>) -> Vec<Request> {
    let claims = claims_in_cache(&client).await;
    let name = volume.metadata.name.as_deref().unwrap_or_default();
    let is_named = |claim: &PersistentVolumeClaim| volume_name(claim) == name || binding::is_bound_to(&volume, claim);
    let woken = claims.iter().filter(|claim| is_unbound(claim) || is_named(claim));
    woken.map(|claim| claim.key().clone().into()).collect()
}

/// The claims that were never bound.
async fn unbound(client: Client) -> Vec<Request> {
    let claims = claims_in_cache(&client).await;
    let unbound = claims.iter().filter(|claim| is_unbound(claim));
    unbound.map(|claim| claim.key().clone().into()).collect()
}

fn is_unbound(claim: &PersistentVolumeClaim) -> bool {
    !has_annotation(&claim.metadata, BIND_COMPLETED)
}

async fn claims_in_cache(client: &Client) -> Vec<View<PersistentVolumeClaim>> {
    let claims = client.without_waiting().list(&Query::all()).await;
    claims.unwrap_or_default()
}

struct Claims {
    client: Client,
    events: EventRecorder,
}

impl Reconciler for Claims {
    async fn reconcile(&self, request: Request) -> Result {
        let Some(claim) = self.client.get_opt::<PersistentVolumeClaim>(&request).await? else {
            return Ok(Action::done());
        };
        let volumes = self.client.list::<PersistentVolume>(&Query::all()).await?;
        let plan = self.plan(&claim, &volumes).await?;
        match plan {
            ClaimPlan::Bind(name) => {
                let volume = volumes
                    .iter()
                    .find(|volume| volume.metadata.name.as_deref() == Some(&name));
                if let Some(volume) = volume {
                    self.bind(volume, &claim).await?;
                }
            }
            ClaimPlan::Wait(note) => self.wait(&claim, note).await?,
            ClaimPlan::WaitForPod => {
                let pods = self.waiting_pods(&claim).await?;
                self.wait(&claim, Some(claim_plan::awaited(&pods))).await?;
            }
            ClaimPlan::Lose(note) => {
                if let Some(lost) = binding::claim_without_volume(&claim, "Lost") {
                    self.client.update_status(&lost).await?;
                }
                self.events.record(&*claim, note);
            }
            ClaimPlan::SetClass(class) => {
                let mut changed = claim.into_owned();
                changed.spec.get_or_insert_default().storage_class_name = Some(class);
                self.client.update(&changed).await?;
            }
            ClaimPlan::Provision(wanted) => {
                let provisioner = wanted.provisioner.as_deref();
                if let Some(marked) = provisioner.and_then(|name| provisioning::marked(&claim, name)) {
                    self.client.update(&marked).await?;
                }
                self.events.record(&*claim, wanted.note);
            }
            ClaimPlan::Tell(note) => self.events.record(&*claim, note),
            ClaimPlan::Nothing => {}
        }
        Ok(Action::done())
    }
}

impl Claims {
    async fn plan(&self, claim: &PersistentVolumeClaim, volumes: &[View<PersistentVolume>]) -> Result<ClaimPlan> {
        let classes = self.client.list::<StorageClass>(&Query::all()).await?;
        let volumes: Vec<&PersistentVolume> = volumes.iter().map(|volume| &**volume).collect();
        let classes: Vec<&StorageClass> = classes.iter().map(|class| &**class).collect();
        let around = Surroundings {
            volumes: &volumes,
            classes: &classes,
        };
        Ok(claim_plan::plan(claim, &around))
    }

    /// The Pods that use a claim, have not ended and are on no node.
    async fn waiting_pods(&self, claim: &PersistentVolumeClaim) -> Result<Vec<String>> {
        let namespace = claim.metadata.namespace.as_deref().unwrap_or_default();
        let pods = self.client.list::<Pod>(&Query::all().in_namespace(namespace)).await?;
        let waits = |pod: &&View<Pod>| {
            pods::node_of(pod).is_empty()
                && !pods::is_terminal(pod)
                && claims_of(pod)
                    .iter()
                    .any(|name| Some(name) == claim.metadata.name.as_ref())
        };
        Ok(pods
            .iter()
            .filter(waits)
            .map(|pod| pod.key().name().to_owned())
            .collect())
    }

    /// Tells what a claim waits for.
    async fn wait(&self, claim: &PersistentVolumeClaim, note: Option<EventNote>) -> Result<()> {
        if let Some(note) = note {
            self.events.record(claim, note);
        }
        if let Some(pending) = binding::claim_without_volume(claim, "Pending") {
            self.client.update_status(&pending).await?;
        }
        Ok(())
    }

    /// Writes the binding: first on the volume, so that nobody else gets it, and on the claim when that is certain.
    async fn bind(&self, volume: &PersistentVolume, claim: &PersistentVolumeClaim) -> Result<()> {
        let mut volume = volume.clone();
        if let Some(bound) = binding::bound_volume(&volume, claim) {
            volume = self.client.update(&bound).await?;
        }
        if let Some(bound) = binding::volume_in_phase(&volume, "Bound", "") {
            volume = self.client.update_status(&bound).await?;
        }
        let mut claim = claim.clone();
        let name = volume.metadata.name.as_deref().unwrap_or_default();
        if let Some(bound) = binding::bound_claim(&claim, name) {
            claim = self.client.update(&bound).await?;
        }
        if let Some(bound) = binding::claim_with_volume(&claim, &volume) {
            self.client.update_status(&bound).await?;
        }
        Ok(())
    }
}
