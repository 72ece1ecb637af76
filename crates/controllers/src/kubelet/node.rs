//! Simulated nodes: what they are made of, and what they say of themselves.

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Node, NodeAddress, NodeCondition, NodeSpec, NodeStatus, NodeSystemInfo, Taint};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use crate::support::time::whole;

/// A node with this annotation set to `true` has failed: it says nothing and does nothing.
pub const FAILED_ANNOTATION: &str = "kubewright.dev/failed";

/// What a node has, unless its maker says otherwise. More than a machine would give its Pods, so that tests need few nodes.
const CAPACITY: [(&str, &str); 4] = [
    ("cpu", "64"),
    ("ephemeral-storage", "1Ti"),
    ("memory", "256Gi"),
    ("pods", "1000"),
];

const NOT_READY: &str = "node.kubernetes.io/not-ready";

/// A node by its number, from 1.
pub(super) fn named(number: usize) -> Node {
    let name = format!("node-{number}");
    let labels = [
        ("kubernetes.io/hostname", name.as_str()),
        ("kubernetes.io/os", "linux"),
        ("kubernetes.io/arch", "amd64"),
    ];
    Node {
        metadata: ObjectMeta {
            name: Some(name.clone()),
            labels: Some(labels.map(|(key, value)| (key.to_owned(), value.to_owned())).into()),
            ..ObjectMeta::default()
        },
        spec: Some(NodeSpec::default()),
        status: None,
    }
}

/// Whether a node has failed.
pub(crate) fn has_failed(node: &Node) -> bool {
    let annotations = node.metadata.annotations.as_ref();
    annotations
        .and_then(|all| all.get(FAILED_ANNOTATION))
        .is_some_and(|value| value == "true")
}

/// The condition of a node.
pub(crate) fn condition<'a>(node: &'a Node, type_: &str) -> Option<&'a NodeCondition> {
    let conditions = node.status.as_ref()?.conditions.as_deref()?;
    conditions.iter().find(|condition| condition.type_ == type_)
}

/// The address of a node.
pub(super) fn address(node: &Node) -> &str {
    let addresses = node.status.iter().flat_map(|status| status.addresses.iter().flatten());
    let internal = addresses.into_iter().find(|address| address.type_ == "InternalIP");
    internal.map_or("192.168.0.1", |address| address.address.as_str())
}

/// The status with which a node that works reports, if it does not say so already.
pub(super) fn report(node: &Node, ip: &str, version: &str, now: Timestamp) -> Option<NodeStatus> {
    if has_failed(node) || condition(node, "Ready").is_some_and(|ready| ready.status == "True") {
        return None;
    }
    let name = node.metadata.name.clone().unwrap_or_default();
    let mut status = node.status.clone().unwrap_or_default();
    let mut capacity: BTreeMap<String, Quantity> = CAPACITY
        .map(|(name, amount)| (name.to_owned(), Quantity(amount.to_owned())))
        .into();
    capacity.extend(status.capacity.take().unwrap_or_default());
    if status.allocatable.as_ref().is_none_or(BTreeMap::is_empty) {
        status.allocatable = Some(capacity.clone());
    }
    status.capacity = Some(capacity);
    status.conditions = Some(conditions(node, now));
    if status.addresses.as_ref().is_none_or(Vec::is_empty) {
        let address = |type_: &str, address: String| NodeAddress {
            type_: type_.to_owned(),
            address,
        };
        status.addresses = Some(vec![
            address("InternalIP", ip.to_owned()),
            address("Hostname", name.clone()),
        ]);
    }
    introduce(status.node_info.get_or_insert_default(), &name, version);
    Some(status)
}

/// Fills in the fields of a node's info that are empty, because the API server requires them.
fn introduce(info: &mut NodeSystemInfo, name: &str, version: &str) {
    let words = [
        (&mut info.architecture, "amd64"),
        (&mut info.operating_system, "linux"),
        (&mut info.os_image, "Kubewright simulated node"),
        (&mut info.kernel_version, "simulated"),
        (&mut info.container_runtime_version, "simulated://1"),
        (&mut info.kubelet_version, version),
        (&mut info.machine_id, name),
        (&mut info.system_uuid, name),
        (&mut info.boot_id, name),
    ];
    for (word, default) in words.into_iter().filter(|(word, _)| word.is_empty()) {
        default.clone_into(word);
    }
}

fn conditions(node: &Node, now: Timestamp) -> Vec<NodeCondition> {
    let healthy = [
        (
            "MemoryPressure",
            "False",
            "KubeletHasSufficientMemory",
            "kubelet has sufficient memory available",
        ),
        (
            "DiskPressure",
            "False",
            "KubeletHasNoDiskPressure",
            "kubelet has no disk pressure",
        ),
        (
            "PIDPressure",
            "False",
            "KubeletHasSufficientPID",
            "kubelet has sufficient PID available",
        ),
        ("Ready", "True", "KubeletReady", "kubelet is posting ready status"),
    ];
    healthy
        .map(|(type_, status, reason, message)| {
            let before = condition(node, type_).filter(|before| before.status == status);
            let since = before.and_then(|before| before.last_transition_time.clone());
            NodeCondition {
                type_: type_.to_owned(),
                status: status.to_owned(),
                reason: Some(reason.to_owned()),
                message: Some(message.to_owned()),
                last_heartbeat_time: Some(whole(now)),
                last_transition_time: since.or_else(|| Some(whole(now))),
            }
        })
        .into()
}

/// The taints of a node that is ready, if it still has the one of a node that is not.
pub(super) fn without_not_ready(node: &Node) -> Option<Vec<Taint>> {
    let ready = condition(node, "Ready").is_some_and(|ready| ready.status == "True");
    let taints = node.spec.as_ref()?.taints.as_ref()?;
    let (gone, kept): (Vec<_>, Vec<_>) = taints.iter().cloned().partition(|taint| taint.key == NOT_READY);
    (ready && !gone.is_empty() && !has_failed(node)).then_some(kept)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn now() -> Timestamp {
        "2026-01-01T00:00:00Z".parse().unwrap()
    }

    #[test]
    fn a_new_node_reports_once_and_loses_the_taint_of_the_unready() {
        let mut node = named(3);
        node.spec = serde_json::from_value(json!({ "taints": [
            { "key": NOT_READY, "effect": "NoSchedule" }, { "key": "own", "effect": "NoSchedule" },
        ] }))
        .unwrap();
        assert_eq!(without_not_ready(&node), None);
        node.status = report(&node, "192.168.0.3", "v1.36.3", now());
        assert_eq!(report(&node, "192.168.0.3", "v1.36.3", now()), None);
        assert_eq!(address(&node), "192.168.0.3");
        assert_eq!(without_not_ready(&node).unwrap().len(), 1);
    }

    #[test]
    fn a_node_says_what_it_is_where_nobody_else_has() {
        let mut node = named(1);
        // As the API server answers who created a node without saying anything.
        let empty = json!({
            "architecture": "arm64", "bootID": "", "containerRuntimeVersion": "", "kernelVersion": "", "kubeProxyVersion": "",
            "kubeletVersion": "", "machineID": "", "operatingSystem": "", "osImage": "", "systemUUID": "",
        });
        node.status = serde_json::from_value(json!({ "nodeInfo": empty })).unwrap();
        let info = report(&node, "192.168.0.1", "v1.36.3", now())
            .unwrap()
            .node_info
            .unwrap();
        assert_eq!(
            (
                info.kubelet_version.as_str(),
                info.architecture.as_str(),
                info.machine_id.as_str()
            ),
            ("v1.36.3", "arm64", "node-1")
        );
    }

    #[test]
    fn a_node_keeps_the_size_it_was_given_and_a_failed_one_says_nothing() {
        let mut node = named(1);
        node.status = serde_json::from_value(json!({ "capacity": { "cpu": "2" } })).unwrap();
        let status = report(&node, "192.168.0.1", "v1.36.3", now()).unwrap();
        assert_eq!(status.allocatable.unwrap()["cpu"].0, "2");
        assert_eq!(status.capacity.unwrap()["pods"].0, "1000");
        node.metadata.annotations = Some([(FAILED_ANNOTATION.to_owned(), "true".to_owned())].into());
        assert_eq!(report(&node, "192.168.0.1", "v1.36.3", now()), None);
    }
}
