// Copyright The Ginoh Authors
// SPDX-License-Identifier: Apache-2.0

//! Brings about what a `Frigate` asks for.

use kubewright::prelude::*;

use crate::api::ship::v1::Frigate;

/// Reconciles `Frigate`s.
pub struct FrigateReconciler {
    client: Client,
}

impl FrigateReconciler {
    /// What is reconciled, and what else wakes it: add `.owns::<Deployment>()` and the like.
    pub fn controller() -> Controller {
        Controller::of::<Frigate>().reconcile_with(Self::new)
    }

    fn new(context: &Context) -> Self {
        Self {
            client: context.client(),
        }
    }
}

// What may be read follows from what is watched. Say here what the controller writes.
#[rbac(
    groups = "ship.ginoh.github.io",
    resources = "frigates/status",
    verbs = "update"
)]
impl Reconciler for FrigateReconciler {
    // Called whenever something changed, and again after a failure: compare what is with what should be.
    async fn reconcile(&self, request: Request) -> Result {
        let Some(object) = self.client.get_opt::<Frigate>(&request).await? else {
            return Ok(Action::done());
        };

        // Create, change and delete what belongs to the object here.

        let mut object = object.into_owned();
        let ready = ConditionUpdate::is_true("Available", "Reconciled")
            .message("all is as it should be")
            .observed(object.metadata.generation);
        let conditions = &mut object.status.get_or_insert_default().conditions;
        if set_condition(conditions, &ready, self.client.clock().now()) {
            self.client.update_status(&object).await?;
        }
        Ok(Action::done())
    }
}
