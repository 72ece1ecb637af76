// Copyright The Ginoh Authors
// SPDX-License-Identifier: Apache-2.0

//! What a `Pod` is given before it is stored, and what it must be.

use kubewright::k8s_openapi::api::core::v1::Pod;
use kubewright::prelude::*;
use kubewright::webhook::Verdict;
use kubewright::webhook::field::ErrorList;

/// What judges a `Pod` before it is stored.
pub fn webhook() -> Webhook<Pod> {
    Webhook::of::<Pod>()
        .defaulter(PodDefaulter)
        .validator(PodValidator)
}

/// Fills in what a `Pod` leaves open.
pub struct PodDefaulter;

impl Defaulter<Pod> for PodDefaulter {
    async fn set_defaults(&self, object: &mut Pod, _: &AdmissionRequest) -> Result<(), Rejection> {
        // Set what is not set, as in `object.spec.size.get_or_insert(1)`.
        let _ = object;
        Ok(())
    }
}

/// Refuses a `Pod` that cannot be right.
pub struct PodValidator;

impl PodValidator {
    fn validate(_object: &Pod) -> Verdict {
        // Add what is wrong, as in
        // `errors.push(FieldError::required(&Path::new("spec").child("size"), "say how many"))`.
        let errors = ErrorList::new();
        errors.verdict()
    }
}

impl Validator<Pod> for PodValidator {
    async fn validate_create(&self, object: &Pod, _: &AdmissionRequest) -> Verdict {
        Self::validate(object)
    }

    async fn validate_update(&self, _old: &Pod, object: &Pod, _: &AdmissionRequest) -> Verdict {
        Self::validate(object)
    }
}
