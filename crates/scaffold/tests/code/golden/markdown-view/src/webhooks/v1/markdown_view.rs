// Copyright The Ginoh Authors
// SPDX-License-Identifier: Apache-2.0

//! What a `MarkdownView` is given before it is stored, and what it must be.

use kubewright::prelude::*;
use kubewright::webhook::Verdict;
use kubewright::webhook::field::ErrorList;

use crate::api::v1::MarkdownView;

/// What judges a `MarkdownView` before it is stored.
pub fn webhook() -> Webhook<MarkdownView> {
    Webhook::of::<MarkdownView>()
        .defaulter(MarkdownViewDefaulter)
        .validator(MarkdownViewValidator)
}

/// Fills in what a `MarkdownView` leaves open.
pub struct MarkdownViewDefaulter;

impl Defaulter<MarkdownView> for MarkdownViewDefaulter {
    async fn set_defaults(
        &self,
        object: &mut MarkdownView,
        _: &AdmissionRequest,
    ) -> Result<(), Rejection> {
        // Set what is not set, as in `object.spec.size.get_or_insert(1)`.
        let _ = object;
        Ok(())
    }
}

/// Refuses a `MarkdownView` that cannot be right.
pub struct MarkdownViewValidator;

impl MarkdownViewValidator {
    fn validate(_object: &MarkdownView) -> Verdict {
        // Add what is wrong, as in
        // `errors.push(FieldError::required(&Path::new("spec").child("size"), "say how many"))`.
        let errors = ErrorList::new();
        errors.verdict()
    }
}

impl Validator<MarkdownView> for MarkdownViewValidator {
    async fn validate_create(&self, object: &MarkdownView, _: &AdmissionRequest) -> Verdict {
        Self::validate(object)
    }

    async fn validate_update(
        &self,
        _old: &MarkdownView,
        object: &MarkdownView,
        _: &AdmissionRequest,
    ) -> Verdict {
        Self::validate(object)
    }
}
