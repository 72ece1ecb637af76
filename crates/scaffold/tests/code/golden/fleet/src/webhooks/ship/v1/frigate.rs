// Copyright The Ginoh Authors
// SPDX-License-Identifier: Apache-2.0

//! What a `Frigate` must be to be stored.

use kubewright::prelude::*;
use kubewright::webhook::Verdict;
use kubewright::webhook::field::ErrorList;

use crate::api::ship::v1::Frigate;

/// What judges a `Frigate` before it is stored.
pub fn webhook() -> Webhook<Frigate> {
    Webhook::of::<Frigate>().validator(FrigateValidator)
}

/// The versions of a `Frigate`: every other one is converted to this one and back, as its
/// `#[convert(…)]` says.
pub fn conversion() -> Conversion {
    Conversion::hub::<Frigate>()
        .spoke::<crate::api::ship::v1beta1::Frigate>()
        .spoke::<crate::api::ship::v2::Frigate>()
        .into()
}

/// Refuses a `Frigate` that cannot be right.
pub struct FrigateValidator;

impl FrigateValidator {
    fn validate(_object: &Frigate) -> Verdict {
        // Add what is wrong, as in
        // `errors.push(FieldError::required(&Path::new("spec").child("size"), "say how many"))`.
        let errors = ErrorList::new();
        errors.verdict()
    }
}

impl Validator<Frigate> for FrigateValidator {
    async fn validate_create(&self, object: &Frigate, _: &AdmissionRequest) -> Verdict {
        Self::validate(object)
    }

    async fn validate_update(
        &self,
        _old: &Frigate,
        object: &Frigate,
        _: &AdmissionRequest,
    ) -> Verdict {
        Self::validate(object)
    }
}
