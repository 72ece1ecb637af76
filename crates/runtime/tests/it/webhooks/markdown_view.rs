//! The webhooks of markdown-view, the operator of a well-known tutorial for kubebuilder.

use std::collections::BTreeMap;

use kubewright_runtime::operator::Operator;
use kubewright_runtime::webhook::field::{ErrorList, FieldError, Path};
use kubewright_runtime::webhook::{AdmissionRequest, Defaulter, Rejection, Validator, Verdict, Webhook};
use serde::{Deserialize, Serialize};

/// Documents in Markdown, shown by a viewer.
#[derive(kube::CustomResource, schemars::JsonSchema, Serialize, Deserialize, Clone, Debug, Default)]
#[kube(
    group = "view.zoetrope.github.io",
    version = "v1",
    kind = "MarkdownView",
    namespaced,
    status = "MarkdownViewStatus"
)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct MarkdownViewSpec {
    /// The documents, by file name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) markdowns: BTreeMap<String, String>,
    /// How many viewers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) replicas: Option<i32>,
    /// The viewer.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) viewer_image: String,
}

/// Whether it is shown.
#[derive(schemars::JsonSchema, Serialize, Deserialize, Clone, Debug, Default)]
pub(crate) struct MarkdownViewStatus {}

/// Fills in the viewer.
pub(crate) struct Defaults;

impl Defaulter<MarkdownView> for Defaults {
    async fn set_defaults(&self, view: &mut MarkdownView, _: &AdmissionRequest) -> Result<(), Rejection> {
        if view.spec.viewer_image.is_empty() {
            "peaceiris/mdbook:latest".clone_into(&mut view.spec.viewer_image);
        }
        Ok(())
    }
}

/// Between one and five viewers of something that has a summary.
pub(crate) struct Rules;

impl Rules {
    fn validate(view: &MarkdownView) -> Verdict {
        let (spec, mut errors) = (Path::new("spec"), ErrorList::new());
        let replicas = view.spec.replicas.unwrap_or_default();
        if !(1..=5).contains(&replicas) {
            let field = spec.child("replicas");
            errors.push(FieldError::invalid(
                &field,
                replicas,
                "replicas must be in the range of 1 to 5.",
            ));
        }
        if !view.spec.markdowns.contains_key("SUMMARY.md") {
            let field = spec.child("markdowns");
            errors.push(FieldError::required(&field, "markdowns must have SUMMARY.md."));
        }
        errors.verdict()
    }
}

impl Validator<MarkdownView> for Rules {
    async fn validate_create(&self, view: &MarkdownView, _: &AdmissionRequest) -> Verdict {
        Self::validate(view)
    }

    async fn validate_update(&self, _: &MarkdownView, view: &MarkdownView, _: &AdmissionRequest) -> Verdict {
        Self::validate(view)
    }
}

/// The operator, as far as its webhooks go.
pub(crate) fn operator() -> Operator {
    Operator::new("markdown-view").webhook(Webhook::of::<MarkdownView>().defaulter(Defaults).validator(Rules))
}
