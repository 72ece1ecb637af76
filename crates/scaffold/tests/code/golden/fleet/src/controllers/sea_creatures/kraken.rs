// Copyright The Ginoh Authors
// SPDX-License-Identifier: Apache-2.0

//! Brings about what a `Kraken` asks for.

use kubewright::prelude::*;

use crate::api::sea_creatures::v1alpha1::Kraken;

/// Reconciles `Kraken`s.
pub struct KrakenReconciler {
    client: Client,
}

impl KrakenReconciler {
    /// What is reconciled, and what else wakes it: add `.owns::<Deployment>()` and the like.
    pub fn controller() -> Controller {
        Controller::of::<Kraken>().reconcile_with(Self::new)
    }

    fn new(context: &Context) -> Self {
        Self {
            client: context.client(),
        }
    }
}

// What may be read follows from what is watched. Say here what the controller writes.
#[rbac(
    groups = "sea-creatures.ginoh.github.io",
    resources = "krakenes/status",
    verbs = "update"
)]
impl Reconciler for KrakenReconciler {
    // Called whenever something changed, and again after a failure: compare what is with what should be.
    async fn reconcile(&self, request: Request) -> Result {
        let Some(object) = self.client.get_opt::<Kraken>(&request).await? else {
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
