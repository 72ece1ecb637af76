//! The controller of volumes.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim, Pod};
use kubewright_runtime::cache::Query;
use kubewright_runtime::client::Client;
use kubewright_runtime::client::helpers::ignore_not_found;
use kubewright_runtime::controller::{Action, Controller, Reconciler, Request, Result};
use kubewright_runtime::events::EventNote;
use kubewright_runtime::object::{ObjectKey, View};

use super::COMPONENT;
use super::binding::{self, claim_ref, uid_of, volume_name};
use super::reclaim::{self, Reclaim};
use super::volume_plan::{self, VolumePlan};
use crate::support::events::EventRecorder;
use crate::support::{Settings, pods};
use crate::volume_protection::claims_of;

/// The controller.
pub(super) fn controller(settings: &Settings) -> Controller {
    let settings = settings.clone();
    Controller::of::<PersistentVolume>()
        .named("persistentvolume-binder-controller-of-volumes")
        .watches_with::<PersistentVolumeClaim, _>(wakes_by_claim)
        .watches_with::<Pod, _>(wakes_by_pod)
        .reconcile_with(move |context| {
            let client = context.client();
            Volumes {
                events: settings.recorder(COMPONENT, &client),
                client,
            }
        })
}

/// A claim wakes the volume that it names and those that name it.
async fn wakes_by_claim(client: Client, claim: View<PersistentVolumeClaim>) -> Vec<Request> {
    let mut woken = naming(&client, claim.key()).await;
    let own = volume_name(&claim);
    if !own.is_empty() {
        woken.insert(own.to_owned());
    }
    requests(woken)
}

/// A Pod wakes the volume that it empties, and those that cannot be emptied while it uses them.
async fn wakes_by_pod(client: Client, pod: View<Pod>) -> Vec<Request> {
    let mut woken: BTreeSet<String> = reclaim::emptied_by(&pod).map(str::to_owned).into_iter().collect();
    let namespace = pod.metadata.namespace.as_deref().unwrap_or_default();
    for claim in claims_of(&pod) {
        woken.extend(naming(&client, &ObjectKey::namespaced(namespace, &claim)).await);
    }
    requests(woken)
}

/// The volumes that name a claim.
async fn naming(client: &Client, claim: &ObjectKey) -> BTreeSet<String> {
    let volumes = client.without_waiting().list::<PersistentVolume>(&Query::all()).await;
    let volumes = volumes.unwrap_or_default().into_iter();
    let naming = volumes.filter(|volume| key_of_claim(volume).as_ref() == Some(claim));
    naming.map(|volume| volume.key().name().to_owned()).collect()
}

fn requests(volumes: BTreeSet<String>) -> Vec<Request> {
    let keys = volumes.into_iter().map(|name| ObjectKey::cluster(&name));
    keys.map(Request::from).collect()
}

fn key_of_claim(volume: &PersistentVolume) -> Option<ObjectKey> {
    let reference = claim_ref(volume)?;
    let namespace = reference.namespace.as_deref().unwrap_or_default();
    Some(ObjectKey::namespaced(
        namespace,
        reference.name.as_deref().unwrap_or_default(),
    ))
}

struct Volumes {
    client: Client,
    events: EventRecorder,
}

impl Reconciler for Volumes {
    async fn reconcile(&self, request: Request) -> Result {
        let Some(volume) = self.client.get_opt::<PersistentVolume>(&request).await? else {
            return Ok(Action::done());
        };
        let claim = self.claim_of(&volume).await?;
        match volume_plan::plan(&volume, claim.as_deref()) {
            VolumePlan::Phase(phase) => {
                self.set_phase(&volume, phase).await?;
            }
            VolumePlan::Reclaim => Box::pin(self.reclaim(volume.into_owned())).await?,
            VolumePlan::Unbind => Box::pin(self.unbind(&volume)).await?,
            VolumePlan::LeaveToClaim => {}
            VolumePlan::Mismatch(notes) => {
                let (of_volume, of_claim) = *notes;
                self.events.record(&*volume, of_volume);
                if let Some(claim) = claim {
                    self.events.record(&*claim, of_claim);
                }
            }
        }
        Ok(Action::done())
    }
}

impl Volumes {
    /// The claim that a volume names by its uid. What is not in the cache may be newer than it: the server is asked before a volume
    /// is reclaimed.
    async fn claim_of(&self, volume: &PersistentVolume) -> Result<Option<View<PersistentVolumeClaim>>> {
        let (Some(key), Some(uid)) = (key_of_claim(volume), claim_ref(volume).and_then(uid_of)) else {
            return Ok(None);
        };
        for client in [self.client.clone(), self.client.live()] {
            let claim = client.get_opt::<PersistentVolumeClaim>(&key).await?;
            let claim = claim.filter(|claim| claim.metadata.uid.as_deref() == Some(uid));
            if claim.is_some() {
                return Ok(claim);
            }
        }
        Ok(None)
    }

    async fn set_phase(&self, volume: &PersistentVolume, phase: &str) -> Result<()> {
        if let Some(changed) = binding::volume_in_phase(volume, phase, "") {
            self.client.update_status(&changed).await?;
        }
        Ok(())
    }

    /// Makes a volume available again.
    async fn unbind(&self, volume: &PersistentVolume) -> Result<()> {
        let free = self.client.update(&binding::unbound_volume(volume)).await?;
        self.set_phase(&free, "Available").await
    }

    async fn reclaim(&self, mut volume: PersistentVolume) -> Result<()> {
        if volume_plan::is_to_be_released(&volume)
            && let Some(released) = binding::volume_in_phase(&volume, "Released", "")
        {
            volume = self.client.update_status(&released).await?;
        }
        match reclaim::reclaim(&volume) {
            Reclaim::Keep => Ok(()),
            Reclaim::Delete => {
                let key = ObjectKey::cluster(volume.metadata.name.as_deref().unwrap_or_default());
                if volume.metadata.deletion_timestamp.is_none() {
                    ignore_not_found(self.client.delete::<PersistentVolume>(&key).await)?;
                }
                Ok(())
            }
            Reclaim::Empty => Box::pin(self.empty(&volume)).await,
            Reclaim::Fail(reason, text) => self.fail(&volume, reason, text).await,
        }
    }

    /// Says once why a volume cannot be reclaimed.
    async fn fail(&self, volume: &PersistentVolume, reason: &str, text: String) -> Result<()> {
        if let Some(failed) = binding::volume_in_phase(volume, "Failed", &text) {
            let failed = self.client.update_status(&failed).await?;
            self.events.record(&failed, EventNote::warning(reason, "Reclaim", text));
        }
        Ok(())
    }

    /// Has a Pod empty a volume, as often as it takes.
    async fn empty(&self, volume: &PersistentVolume) -> Result<()> {
        let users = self.users(volume).await?;
        if !users.is_empty() {
            let text = format!("Volume is used by pods: {}", users.join(","));
            let note = EventNote::normal("VolumeFailedRecycle", "Recycle", text);
            self.events.record(volume, note);
            return Ok(());
        }
        let name = reclaim::name_of_pod(volume.metadata.name.as_deref().unwrap_or_default());
        let key = ObjectKey::namespaced(reclaim::NAMESPACE, &name);
        let Some(pod) = self.client.get_opt::<Pod>(&key).await? else {
            self.client.create(&reclaim::pod(volume)).await?;
            return Ok(());
        };
        if pod.metadata.deletion_timestamp.is_some() || !pods::is_terminal(&pod) {
            return Ok(());
        }
        let status = pod.status.as_ref();
        let has_succeeded = status.and_then(|status| status.phase.as_deref()) == Some("Succeeded");
        let message = status.and_then(|status| status.message.clone());
        ignore_not_found(self.client.delete::<Pod>(&key).await)?;
        if has_succeeded {
            let note = EventNote::normal("VolumeRecycled", "Recycle", "Volume recycled");
            self.events.record(volume, note);
            return Box::pin(self.unbind(volume)).await;
        }
        let why = message.unwrap_or_else(|| "pod failed, pod.Status.Message unknown".to_owned());
        let text = format!("Recycle failed: failed to recycle volume: {why}");
        self.fail(volume, "VolumeFailedRecycle", text).await
    }

    /// The Pods that still use the claim that a volume had, unless that is another claim of the same name by now.
    async fn users(&self, volume: &PersistentVolume) -> Result<Vec<String>> {
        let Some(claim) = key_of_claim(volume) else {
            return Ok(Vec::new());
        };
        if self.client.get_opt::<PersistentVolumeClaim>(&claim).await?.is_some() {
            return Ok(Vec::new());
        }
        let namespace = claim.namespace().unwrap_or_default();
        let pods = self.client.list::<Pod>(&Query::all().in_namespace(namespace)).await?;
        let uses = |pod: &&View<Pod>| !pods::is_terminal(pod) && claims_of(pod).iter().any(|name| name == claim.name());
        let names = pods.iter().filter(uses).map(|pod| pod.key().to_string());
        Ok(names.collect())
    }
}
