// Copyright The Ginoh Authors
// SPDX-License-Identifier: Apache-2.0

//! What a `Frigate` is given before it is stored.

use kubewright::prelude::*;

use crate::api::ship::v2::Frigate;

/// What judges a `Frigate` before it is stored.
pub fn webhook() -> Webhook<Frigate> {
    Webhook::of::<Frigate>().defaulter(FrigateDefaulter)
}

/// Fills in what a `Frigate` leaves open.
pub struct FrigateDefaulter;

impl Defaulter<Frigate> for FrigateDefaulter {
    async fn set_defaults(
        &self,
        object: &mut Frigate,
        _: &AdmissionRequest,
    ) -> Result<(), Rejection> {
        // Set what is not set, as in `object.spec.size.get_or_insert(1)`.
        let _ = object;
        Ok(())
    }
}
