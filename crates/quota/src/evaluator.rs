//! What objects of a resource use of a quota.

use jiff::{SignedDuration, Timestamp};
use kubewright_quantity::Quantity;
use serde_json::Value;

use crate::pod::{Basis, compute_usage, is_extended, pod_limits, pod_requests};
use crate::{ResourceList, list, text};

const STORAGE_CLASS: &str = ".storageclass.storage.k8s.io/";
const DEVICE_CLASS: &str = ".deviceclass.resource.k8s.io/devices";
const IMPLICIT_DEVICE_CLASS: &str = "requests.deviceclass.resource.kubernetes.io/";
const CLASS_ANNOTATION: &str = "volume.beta.kubernetes.io/storage-class";
/// How many devices one request may get at most.
const MOST_DEVICES: i64 = 32;
const POD_RESOURCES: [&str; 10] = [
    "cpu",
    "memory",
    "ephemeral-storage",
    "requests.cpu",
    "requests.memory",
    "requests.ephemeral-storage",
    "limits.cpu",
    "limits.memory",
    "limits.ephemeral-storage",
    "pods",
];
const SERVICE_RESOURCES: [&str; 3] = ["services", "services.nodeports", "services.loadbalancers"];
const CLAIM_RESOURCES: [&str; 2] = ["persistentvolumeclaims", "requests.storage"];
/// Resources that can be counted by their plain names.
const PLAIN_NAMES: [&str; 4] = ["configmaps", "resourcequotas", "replicationcontrollers", "secrets"];
/// Resources that no quota counts: what is not stored, and events.
const UNCOUNTED: [(&str, &str); 9] = [
    ("", "bindings"),
    ("", "componentstatuses"),
    ("authentication.k8s.io", "tokenreviews"),
    ("authentication.k8s.io", "selfsubjectreviews"),
    ("authorization.k8s.io", "subjectaccessreviews"),
    ("authorization.k8s.io", "selfsubjectaccessreviews"),
    ("authorization.k8s.io", "localsubjectaccessreviews"),
    ("authorization.k8s.io", "selfsubjectrulesreviews"),
    ("", "events"),
];

/// What objects of a resource use of a quota.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evaluator {
    pub(crate) kind: Kind,
    /// `count/pods`, `count/deployments.apps`.
    count: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Pods,
    Services,
    VolumeClaims,
    DeviceClaims,
    /// Counted, and that also by this name.
    Objects(Option<&'static str>),
    Uncounted,
}

impl Evaluator {
    /// For the objects of a resource, by its group and plural name.
    pub fn of(group: &str, plural: &str) -> Evaluator {
        let kind = match (group, plural) {
            ("", "pods") => Kind::Pods,
            ("", "services") => Kind::Services,
            ("", "persistentvolumeclaims") => Kind::VolumeClaims,
            ("resource.k8s.io", "resourceclaims") => Kind::DeviceClaims,
            ("events.k8s.io", "events") => Kind::Uncounted,
            (group, plural) if UNCOUNTED.contains(&(group, plural)) => Kind::Uncounted,
            ("", plural) => Kind::Objects(PLAIN_NAMES.into_iter().find(|name| *name == plural)),
            _ => Kind::Objects(None),
        };
        let count = if group.is_empty() {
            format!("count/{plural}")
        } else {
            format!("count/{plural}.{group}")
        };
        Evaluator { kind, count }
    }

    /// Whether a quota of this resource is about such objects.
    pub fn counts(&self, resource: &str) -> bool {
        if self.kind == Kind::Uncounted {
            return false;
        }
        if resource == self.count {
            return true;
        }
        match self.kind {
            Kind::Pods => {
                POD_RESOURCES.contains(&resource)
                    || resource.starts_with("hugepages-")
                    || resource.starts_with("requests.hugepages-")
                    || resource.strip_prefix("requests.").is_some_and(is_extended)
            }
            Kind::Services => SERVICE_RESOURCES.contains(&resource),
            Kind::VolumeClaims => {
                let plain = resource.split_once(STORAGE_CLASS).map_or(resource, |(_, plain)| plain);
                CLAIM_RESOURCES.contains(&plain)
            }
            Kind::DeviceClaims => resource.ends_with(DEVICE_CLASS),
            Kind::Objects(plain) => plain == Some(resource),
            Kind::Uncounted => false,
        }
    }

    /// What the object uses. A Pod that is over, or should have been gone by now, is only counted.
    pub fn usage(&self, object: &Value, now: Timestamp) -> ResourceList {
        let one = Quantity::from_int(1);
        let mut usage: ResourceList = [(self.count.as_str(), one.clone())].into_iter().collect();
        match self.kind {
            Kind::Pods => {
                if !is_over(object, now) {
                    let requests = pod_requests(object, Basis::Status);
                    usage.add(&compute_usage(&requests, &pod_limits(object, Basis::Status)));
                }
            }
            Kind::Services => usage.add(&of_service(object)),
            Kind::VolumeClaims => usage.add(&of_volume_claim(object)),
            Kind::DeviceClaims => usage.add(&of_device_claim(object)),
            Kind::Objects(plain) => {
                if let Some(name) = plain {
                    usage.set(name, one);
                }
            }
            Kind::Uncounted => return ResourceList::default(),
        }
        usage
    }
}

fn is_over(pod: &Value, now: Timestamp) -> bool {
    if matches!(
        pod.pointer("/status/phase").and_then(Value::as_str),
        Some("Failed" | "Succeeded")
    ) {
        return true;
    }
    let meta = |key: &str| pod.get("metadata").and_then(|metadata| metadata.get(key));
    let deleted: Option<Timestamp> = meta("deletionTimestamp")
        .and_then(Value::as_str)
        .and_then(|time| time.parse().ok());
    let grace = meta("deletionGracePeriodSeconds").and_then(Value::as_i64);
    deleted.zip(grace).is_some_and(|(deleted, grace)| {
        deleted
            .checked_add(SignedDuration::from_secs(grace))
            .is_ok_and(|gone| now > gone)
    })
}

fn of_service(service: &Value) -> ResourceList {
    let ports = list(service.pointer("/spec/ports"));
    let count = |count: usize| Quantity::from_int(i64::try_from(count).unwrap_or(i64::MAX));
    let spec = |key: &str| service.get("spec").and_then(|spec| spec.get(key));
    let (node_ports, balancers) = match spec("type").and_then(Value::as_str) {
        Some("NodePort") => (ports.len(), 0),
        Some("LoadBalancer") => {
            if spec("allocateLoadBalancerNodePorts") == Some(&Value::Bool(false)) {
                let given = |port: &&Value| port.get("nodePort").and_then(Value::as_i64).unwrap_or(0) != 0;
                (ports.iter().filter(given).count(), 1)
            } else {
                (ports.len(), 1)
            }
        }
        _ => (0, 0),
    };
    [
        ("services", count(1)),
        ("services.loadbalancers", count(balancers)),
        ("services.nodeports", count(node_ports)),
    ]
    .into_iter()
    .collect()
}

fn of_volume_claim(claim: &Value) -> ResourceList {
    let mut usage = ResourceList::default();
    let storage = |at: &str| ResourceList::read(claim.pointer(at)).get("storage").cloned();
    usage.set("persistentvolumeclaims", Quantity::from_int(1));
    if let Some(mut amount) = storage("/spec/resources/requests") {
        if let Some(allocated) = storage("/status/allocatedResources").filter(|allocated| *allocated > amount) {
            amount = allocated;
        }
        // Whole bytes are counted.
        amount.round_up(0);
        usage.set("requests.storage", amount);
    }
    let annotated = claim
        .pointer("/metadata/annotations")
        .and_then(|all| all.get(CLASS_ANNOTATION));
    let class = annotated.or_else(|| claim.pointer("/spec/storageClassName"));
    if let Some(class) = class.and_then(Value::as_str).filter(|class| !class.is_empty()) {
        let of_class: Vec<(String, Quantity)> = usage
            .iter()
            .map(|(name, amount)| (format!("{class}{STORAGE_CLASS}{name}"), amount.clone()))
            .collect();
        for (name, amount) in of_class {
            usage.set(name, amount);
        }
    }
    usage
}

fn of_device_claim(claim: &Value) -> ResourceList {
    let mut usage = ResourceList::default();
    let devices = |request: &Value| {
        let count = match text(request, "allocationMode") {
            "ExactCount" => request.get("count").and_then(Value::as_i64).unwrap_or(0),
            "All" => MOST_DEVICES,
            _ => 0,
        };
        let name = format!("{}{DEVICE_CLASS}", text(request, "deviceClassName"));
        (name, Quantity::from_int(count))
    };
    for request in list(claim.pointer("/spec/devices/requests")) {
        let mut worst = ResourceList::default();
        let alternatives = list(request.get("firstAvailable"));
        let requests = alternatives
            .iter()
            .chain(request.get("exactly").filter(|_| alternatives.is_empty()));
        for (name, count) in requests.map(devices) {
            if worst.get(&name).is_none_or(|known| count > *known) {
                worst.set(name, count);
            }
        }
        usage.add(&worst);
    }
    let implicit: Vec<(String, Quantity)> = usage
        .iter()
        .filter(|(_, count)| !count.is_zero())
        .filter_map(|(name, count)| Some((name.strip_suffix(DEVICE_CLASS)?, count)))
        .map(|(class, count)| (format!("{IMPLICIT_DEVICE_CLASS}{class}"), count.clone()))
        .collect();
    for (name, count) in implicit {
        usage.set(name, count);
    }
    usage
}
