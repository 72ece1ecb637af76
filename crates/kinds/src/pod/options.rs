//! What a pod may have against the rules because the stored one already has it: validation is ratcheting, so that an
//! object that was accepted once can still be updated.

use kubewright_apimachinery::names;
use serde_json::Value;

use crate::rules::access::{at, bool_at, list_at, opt_bool_at, opt_str_at, part, str_at, strings_at};
use crate::rules::labels;

use super::{annotations, containers, resources, scheduling, security, volumes};

/// The tolerances of one validation.
#[derive(Clone, Copy, Debug, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a tolerance by itself; there is no state machine in them"
)]
pub(crate) struct Options {
    /// The object is a pod, not a template: a few rules are stricter.
    pub(crate) is_pod: bool,
    /// Huge pages that are no multiple of the page size.
    pub(crate) indivisible_huge_pages: bool,
    /// Values no label could have, in the selectors of pod affinity.
    pub(crate) invalid_affinity_values: bool,
    /// Values no label could have, in required node affinity.
    pub(crate) invalid_node_affinity_values: bool,
    /// Broken selectors of topology spread constraints.
    pub(crate) invalid_spread_selectors: bool,
    /// `matchLabelKeys` of topology spread constraints that break the newer rule: the older one applies.
    pub(crate) old_match_label_keys: bool,
    /// Projected tokens with paths that leave the volume.
    pub(crate) token_paths_outside: bool,
    /// Sysctls of a namespace the pod shares with its node.
    pub(crate) host_sysctls: bool,
    /// Init containers that restart on resize.
    pub(crate) restarting_init_resize: bool,
    /// Block devices in a user namespace.
    pub(crate) devices_in_user_namespace: bool,
    /// The node's network in a user namespace.
    pub(crate) host_network_in_user_namespace: bool,
    /// A deletion cost that is no number.
    pub(crate) invalid_deletion_cost: bool,
    /// Changing `SELinux` labels by a mount option, which 1.36 has off.
    pub(crate) any_selinux_policy: bool,
    /// Tolerations that compare numbers.
    pub(crate) comparing_tolerations: bool,
}

impl Options {
    /// The tolerances an update has, given the stored pod or template (`metadata` and `spec`); none on create.
    pub(crate) fn from_old(old: Option<&Value>) -> Options {
        let Some(old) = old else { return Options::default() };
        let spec = part(old, "spec");
        let terms = scheduling::pod_affinity_terms(spec);
        let user_namespace = opt_bool_at(spec, &["hostUsers"]) == Some(false);
        Options {
            is_pod: false,
            indivisible_huge_pages: resources::has_indivisible_huge_pages(spec),
            invalid_affinity_values: terms.iter().any(|term| {
                labels::has_invalid_values(at(term, &["labelSelector"]))
                    || labels::has_invalid_values(at(term, &["namespaceSelector"]))
            }),
            invalid_node_affinity_values: required_node_values(spec).any(|value| !names::label_value(value).is_empty()),
            invalid_spread_selectors: scheduling::has_invalid_spread_selectors(spec),
            old_match_label_keys: scheduling::has_invalid_match_label_keys(spec),
            token_paths_outside: volumes::has_token_paths_outside(spec),
            host_sysctls: security::has_host_sysctls(spec),
            restarting_init_resize: list_at(spec, &["initContainers"]).iter().any(|container| {
                opt_str_at(container, &["restartPolicy"]) != Some("Always")
                    && list_at(container, &["resizePolicy"])
                        .iter()
                        .any(|policy| str_at(policy, &["restartPolicy"]) == "RestartContainer")
            }),
            devices_in_user_namespace: user_namespace
                && containers::all(spec).any(|container| !list_at(container, &["volumeDevices"]).is_empty()),
            host_network_in_user_namespace: user_namespace && bool_at(spec, &["hostNetwork"]),
            invalid_deletion_cost: !annotations::deletion_cost_is_valid(old),
            any_selinux_policy: at(spec, &["securityContext", "seLinuxChangePolicy"]).is_some(),
            comparing_tolerations: list_at(spec, &["tolerations"])
                .iter()
                .any(|toleration| matches!(str_at(toleration, &["operator"]), "Lt" | "Gt")),
        }
    }

    /// The same for a pod.
    pub(crate) fn pod(old: Option<&Value>) -> Options {
        Options {
            is_pod: true,
            ..Options::from_old(old)
        }
    }
}

fn required_node_values(spec: &Value) -> impl Iterator<Item = &str> {
    let path = [
        "affinity",
        "nodeAffinity",
        "requiredDuringSchedulingIgnoredDuringExecution",
        "nodeSelectorTerms",
    ];
    list_at(spec, &path)
        .iter()
        .flat_map(|term| list_at(term, &["matchExpressions"]))
        .flat_map(|expression| strings_at(expression, &["values"]))
}
