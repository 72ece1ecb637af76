//! Label selectors of webhooks: in Kubernetes' type as users and configurations have them, and as a description has them.

use k8s_openapi::apimachinery::pkg::apis::meta::v1 as api;
use kubewright_description::{LabelSelector, LabelSelectorRequirement};

/// The selector as a description has it.
pub(super) fn described(selector: api::LabelSelector) -> LabelSelector {
    let requirement = |requirement: api::LabelSelectorRequirement| LabelSelectorRequirement {
        key: requirement.key,
        operator: requirement.operator,
        values: requirement.values,
    };
    LabelSelector {
        match_labels: selector.match_labels,
        match_expressions: selector
            .match_expressions
            .map(|all| all.into_iter().map(requirement).collect()),
    }
}

/// The selector as a webhook configuration has it.
pub(super) fn configured(selector: &LabelSelector) -> api::LabelSelector {
    let requirement = |requirement: &LabelSelectorRequirement| api::LabelSelectorRequirement {
        key: requirement.key.clone(),
        operator: requirement.operator.clone(),
        values: requirement.values.clone(),
    };
    api::LabelSelector {
        match_labels: selector.match_labels.clone(),
        match_expressions: selector
            .match_expressions
            .as_ref()
            .map(|all| all.iter().map(requirement).collect()),
    }
}
