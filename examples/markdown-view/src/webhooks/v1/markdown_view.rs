// SPDX-License-Identifier: Apache-2.0

//! What a `MarkdownView` is given, and what it must be.

use kubewright::prelude::*;
use kubewright::webhook::Verdict;
use kubewright::webhook::field::{ErrorList, FieldError, Path};

use crate::api::v1::MarkdownView;

/// The webhooks of `MarkdownView`.
pub fn webhook() -> Webhook<MarkdownView> {
    Webhook::of::<MarkdownView>()
        .defaulter(MarkdownViewDefaulter)
        .validator(MarkdownViewValidator)
}

/// Fills in what a `MarkdownView` leaves open.
pub struct MarkdownViewDefaulter;

impl Defaulter<MarkdownView> for MarkdownViewDefaulter {
    async fn set_defaults(&self, view: &mut MarkdownView, _: &AdmissionRequest) -> Result<(), Rejection> {
        let image = view.spec.viewer_image.get_or_insert_default();
        if image.is_empty() {
            "peaceiris/mdbook:latest".clone_into(image);
        }
        Ok(())
    }
}

/// Between one and five viewers of something that has a summary.
pub struct MarkdownViewValidator;

impl MarkdownViewValidator {
    fn validate(view: &MarkdownView) -> Verdict {
        let (spec, mut errors) = (Path::new("spec"), ErrorList::new());
        if !(1..=5).contains(&view.spec.replicas) {
            let field = spec.child("replicas");
            errors.push(FieldError::invalid(
                &field,
                view.spec.replicas,
                "replicas must be in the range of 1 to 5.",
            ));
        }
        if !view.spec.markdowns.contains_key("SUMMARY.md") {
            errors.push(FieldError::required(
                &spec.child("markdowns"),
                "markdowns must have SUMMARY.md.",
            ));
        }
        errors.verdict()
    }
}

impl Validator<MarkdownView> for MarkdownViewValidator {
    async fn validate_create(&self, view: &MarkdownView, _: &AdmissionRequest) -> Verdict {
        Self::validate(view)
    }

    async fn validate_update(&self, _: &MarkdownView, view: &MarkdownView, _: &AdmissionRequest) -> Verdict {
        Self::validate(view)
    }
}
