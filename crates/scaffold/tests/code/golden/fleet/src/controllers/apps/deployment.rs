// Copyright The Ginoh Authors
// SPDX-License-Identifier: Apache-2.0

//! Watches every `Deployment`.

use kubewright::k8s_openapi::api::apps::v1::Deployment;
use kubewright::prelude::*;

/// Reconciles `Deployment`s.
pub struct DeploymentReconciler {
    client: Client,
}

impl DeploymentReconciler {
    /// What is reconciled, and what else wakes it: add `.watches::<ConfigMap>(…)` and the like.
    pub fn controller() -> Controller {
        Controller::of::<Deployment>().reconcile_with(Self::new)
    }

    /// A reconciler with the operator's client.
    pub fn new(context: &Context) -> Self {
        Self {
            client: context.client(),
        }
    }
}

// What may be read follows from what is watched. Say here what the controller writes, as in
// `#[rbac(groups = "apps", resources = "deployments", verbs = "patch")]`.
impl Reconciler for DeploymentReconciler {
    // Called whenever something changed, and again after a failure: compare what is with what should be.
    async fn reconcile(&self, request: Request) -> Result {
        let Some(object) = self.client.get_opt::<Deployment>(&request).await? else {
            return Ok(Action::done());
        };

        // Do here what has to be done about the object.
        kubewright::tracing::info!(%request, uid = object.metadata.uid, "seen");
        Ok(Action::done())
    }
}
