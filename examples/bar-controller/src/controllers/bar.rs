// SPDX-License-Identifier: Apache-2.0

//! Makes the Deployment that a `Bar` names, and deletes one under a name that it had before.

use kubewright::k8s_openapi::api::apps::v1::Deployment;
use kubewright::prelude::*;
use kubewright::serde_json::json;

use crate::api::v1alpha1::{Bar, BarStatus};

/// The index by which a Bar finds its Deployments.
const OWNER_INDEX: &str = ".metadata.controller";

/// Reconciles `Bar`s.
pub struct BarReconciler {
    client: Client,
    events: EventRecorder,
    /// Deployments by the name of the Bar that controls them.
    deployments: DeclaredIndex<Deployment>,
}

impl BarReconciler {
    /// The controller: what it reconciles, and what wakes it.
    pub fn controller() -> Controller {
        Controller::of::<Bar>()
            .owns::<Deployment>()
            .index(OWNER_INDEX, owners)
            .max_concurrent_reconciles(2)
            .reconcile_with(Self::new)
    }

    fn new(context: &Context) -> Self {
        BarReconciler {
            client: context.client(),
            events: context.events(),
            deployments: context.index(OWNER_INDEX),
        }
    }

    /// Deletes the Deployments of this Bar under a name that it no longer asks for.
    async fn clean_up(&self, bar: &Bar) -> Result<()> {
        let mine = self
            .deployments
            .query(bar.name_any())
            .in_namespace(bar.namespace().unwrap_or_default());
        for deployment in self.client.list::<Deployment>(&mine).await? {
            if deployment.name_any() == bar.spec.deployment_name {
                continue;
            }
            ignore_not_found(self.client.delete::<Deployment>(deployment.key()).await)?;
            let text = format!("Deleted deployment {:?}", deployment.name_any());
            self.events.record(bar, EventNote::normal("Deleted", "Delete", text));
        }
        Ok(())
    }

    async fn reconcile_deployment(&self, bar: &Bar) -> Result<Deployment> {
        let labels = json!({ "app": "nginx", "controller": bar.name_any() });
        let initial: Deployment = from_json(json!({
            "metadata": { "name": bar.spec.deployment_name, "namespace": bar.namespace() },
            "spec": {
                // The selector of a Deployment cannot change, so it is said only once.
                "selector": { "matchLabels": labels },
                "template": {
                    "metadata": { "labels": labels },
                    "spec": { "containers": [{ "name": "nginx", "image": "nginx:latest" }] },
                },
            },
        }))?;
        let done = self
            .client
            .create_or_update(initial, |deployment| {
                deployment.spec.get_or_insert_default().replicas = Some(bar.spec.replicas.unwrap_or(1));
                Ok(set_controller_reference(bar, deployment)?)
            })
            .await?;
        Ok(done.object)
    }
}

#[rbac(groups = "apps", resources = "deployments", verbs = "create, update, delete")]
#[rbac(
    groups = "samplecontroller.ginoh.github.io",
    resources = "bars/status",
    verbs = "update"
)]
impl Reconciler for BarReconciler {
    async fn reconcile(&self, request: Request) -> Result {
        let Some(bar) = self.client.get_opt::<Bar>(&request).await? else {
            return Ok(Action::done());
        };
        self.clean_up(&bar).await?;
        let deployment = self.reconcile_deployment(&bar).await?;

        let available = deployment
            .status
            .and_then(|status| status.available_replicas)
            .unwrap_or(0);
        if bar
            .status
            .as_ref()
            .is_none_or(|status| status.available_replicas != available)
        {
            let mut bar = bar.into_owned();
            bar.status = Some(BarStatus {
                available_replicas: available,
            });
            let bar = self.client.update_status(&bar).await?;
            let text = format!("Update bar.status.AvailableReplicas: {available}");
            self.events.record(&bar, EventNote::normal("Updated", "Update", text));
        }
        Ok(Action::done())
    }
}

/// The names of the Bars that control a Deployment: at most one.
fn owners(deployment: &Deployment) -> Vec<String> {
    let owners = deployment.metadata.owner_references.iter().flatten();
    owners
        .filter(|owner| owner.controller == Some(true) && owner.kind == "Bar")
        .map(|owner| owner.name.clone())
        .collect()
}
