// SPDX-License-Identifier: Apache-2.0

//! What a `Bar` is given, and what it must be.

use kubewright::prelude::*;
use kubewright::webhook::Verdict;
use kubewright::webhook::field::{ErrorList, FieldError, Path};

use crate::api::v1alpha1::Bar;

/// The webhooks of `Bar`.
pub fn webhook() -> Webhook<Bar> {
    Webhook::of::<Bar>().defaulter(BarDefaulter).validator(BarValidator)
}

/// One Pod, if it is not said how many.
pub struct BarDefaulter;

impl Defaulter<Bar> for BarDefaulter {
    async fn set_defaults(&self, bar: &mut Bar, _: &AdmissionRequest) -> Result<(), Rejection> {
        bar.spec.replicas.get_or_insert(1);
        Ok(())
    }
}

/// A Deployment has a name that a Deployment can have.
pub struct BarValidator;

impl BarValidator {
    fn validate(bar: &Bar) -> Verdict {
        let mut errors = ErrorList::new();
        let name = &bar.spec.deployment_name;
        let is_label = |part: &str| {
            let inside = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
            let (Some(first), Some(last)) = (part.bytes().next(), part.bytes().last()) else {
                return false;
            };
            inside(first) && inside(last) && part.bytes().all(|byte| inside(byte) || byte == b'-')
        };
        if name.len() > 253 || !name.split('.').all(is_label) {
            let field = Path::new("spec").child("deploymentName");
            let text = "it must be a name that a Deployment can have: lowercase letters, digits, '-' and '.'";
            errors.push(FieldError::invalid(&field, name.as_str(), text));
        }
        errors.verdict()
    }
}

impl Validator<Bar> for BarValidator {
    async fn validate_create(&self, bar: &Bar, _: &AdmissionRequest) -> Verdict {
        Self::validate(bar)
    }

    async fn validate_update(&self, _: &Bar, bar: &Bar, _: &AdmissionRequest) -> Verdict {
        Self::validate(bar)
    }
}
