//! The names of the controllers: short ones, and those of kube-controller-manager's `--controllers`.

use std::fmt;
use std::str::FromStr;

/// One of the controllers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum ControllerName {
    /// Deletes what has lost its owners; foreground and orphaning deletion.
    GarbageCollector,
    /// Empties namespaces that are being deleted.
    Namespace,
    /// The account `default` of each namespace.
    ServiceAccount,
    /// The `ConfigMap` `kube-root-ca.crt` of each namespace.
    RootCa,
    /// Cluster roles that gather the rules of others.
    ClusterRoleAggregation,
    /// Pods of `ReplicaSets`.
    ReplicaSet,
    /// `ReplicaSets` of `Deployments`.
    Deployment,
    /// Pods of Jobs.
    Job,
    /// Jobs of `CronJobs`.
    CronJob,
    /// Deletes Jobs some time after they finished.
    TtlAfterFinished,
    /// `EndpointSlices` of Services.
    EndpointSlice,
    /// Puts Pods on nodes.
    Scheduler,
    /// Simulated nodes, and the life of the Pods on them.
    Kubelet,
    /// Conditions and taints of nodes that fail.
    NodeLifecycle,
    /// Deletes Pods that do not tolerate the taints of their node.
    TaintEviction,
    /// Deletes Pods of nodes that are gone, and too many that have ended.
    PodGarbageCollector,
    /// What is used of `ResourceQuotas`.
    ResourceQuota,
    /// What is wrong with the types of `ValidatingAdmissionPolicies`.
    ValidatingAdmissionPolicyStatus,
    /// Approves kubelets' requests for certificates.
    CsrApproving,
    /// Signs requests for certificates that are approved.
    CsrSigning,
    /// Deletes old requests for certificates.
    CsrCleaner,
    /// Binds claims to volumes.
    VolumeBinder,
    /// Keeps claims while Pods use them.
    ClaimProtection,
    /// Keeps volumes while they are bound.
    VolumeProtection,
    /// Keeps classes of volumes' attributes while claims or volumes name them.
    AttributesClassProtection,
}

/// Short name, kube-controller-manager's name.
const NAMES: [(ControllerName, &str, &str); 25] = [
    (ControllerName::GarbageCollector, "gc", "garbage-collector-controller"),
    (ControllerName::Namespace, "namespace", "namespace-controller"),
    (
        ControllerName::ServiceAccount,
        "serviceaccount",
        "serviceaccount-controller",
    ),
    (
        ControllerName::RootCa,
        "root-ca",
        "root-ca-certificate-publisher-controller",
    ),
    (
        ControllerName::ClusterRoleAggregation,
        "clusterrole-aggregation",
        "clusterrole-aggregation-controller",
    ),
    (ControllerName::ReplicaSet, "replicaset", "replicaset-controller"),
    (ControllerName::Deployment, "deployment", "deployment-controller"),
    (ControllerName::Job, "job", "job-controller"),
    (ControllerName::CronJob, "cronjob", "cronjob-controller"),
    (
        ControllerName::TtlAfterFinished,
        "ttl-after-finished",
        "ttl-after-finished-controller",
    ),
    (
        ControllerName::EndpointSlice,
        "endpointslice",
        "endpointslice-controller",
    ),
    (ControllerName::Scheduler, "scheduler", "kube-scheduler"),
    (ControllerName::Kubelet, "kubelet", "simulated-kubelet"),
    (
        ControllerName::NodeLifecycle,
        "node-lifecycle",
        "node-lifecycle-controller",
    ),
    (
        ControllerName::TaintEviction,
        "taint-eviction",
        "taint-eviction-controller",
    ),
    (
        ControllerName::PodGarbageCollector,
        "podgc",
        "pod-garbage-collector-controller",
    ),
    (
        ControllerName::ResourceQuota,
        "resourcequota",
        "resourcequota-controller",
    ),
    (
        ControllerName::ValidatingAdmissionPolicyStatus,
        "validatingadmissionpolicy-status",
        "validatingadmissionpolicy-status-controller",
    ),
    (
        ControllerName::CsrApproving,
        "csrapproving",
        "certificatesigningrequest-approving-controller",
    ),
    (
        ControllerName::CsrSigning,
        "csrsigning",
        "certificatesigningrequest-signing-controller",
    ),
    (
        ControllerName::CsrCleaner,
        "csrcleaner",
        "certificatesigningrequest-cleaner-controller",
    ),
    (
        ControllerName::VolumeBinder,
        "persistentvolume-binder",
        "persistentvolume-binder-controller",
    ),
    (
        ControllerName::ClaimProtection,
        "pvc-protection",
        "persistentvolumeclaim-protection-controller",
    ),
    (
        ControllerName::VolumeProtection,
        "pv-protection",
        "persistentvolume-protection-controller",
    ),
    (
        ControllerName::AttributesClassProtection,
        "vac-protection",
        "volumeattributesclass-protection-controller",
    ),
];

impl ControllerName {
    /// Every controller there is.
    pub fn all() -> impl Iterator<Item = ControllerName> {
        NAMES.iter().map(|(name, _, _)| *name)
    }

    /// Its short name.
    pub fn as_str(self) -> &'static str {
        NAMES
            .iter()
            .find(|(name, _, _)| *name == self)
            .map_or("", |(_, short, _)| short)
    }
}

impl fmt::Display for ControllerName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A name that no controller has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no controller {given:?}{}; the controllers are: {}", suggestion(.nearest.as_ref()), known())]
pub struct UnknownController {
    /// The name as it was given.
    pub given: String,
    /// The controller with the most similar name, if one is similar.
    pub nearest: Option<ControllerName>,
}

fn suggestion(nearest: Option<&ControllerName>) -> String {
    nearest.map_or_else(String::new, |name| format!(", did you mean \"{name}\"?"))
}

fn known() -> String {
    let names: Vec<_> = NAMES.iter().map(|(_, short, _)| *short).collect();
    names.join(", ")
}

impl FromStr for ControllerName {
    type Err = UnknownController;

    fn from_str(given: &str) -> Result<Self, UnknownController> {
        let known = NAMES
            .iter()
            .find(|(_, short, long)| given.eq_ignore_ascii_case(short) || given.eq_ignore_ascii_case(long));
        if let Some((name, _, _)) = known {
            return Ok(*name);
        }
        let nearest = NAMES
            .iter()
            .flat_map(|(name, short, long)| [(distance(given, short), *name), (distance(given, long), *name)])
            .min_by_key(|(distance, _)| *distance)
            .filter(|(distance, _)| *distance <= 1 + given.chars().count() / 3)
            .map(|(_, name)| name);
        Err(UnknownController {
            given: given.to_owned(),
            nearest,
        })
    }
}

/// How many letters have to change, come or go.
fn distance(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (line, letter) in from.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = line + 1;
        for (column, other) in to.iter().enumerate() {
            let changed = diagonal + usize::from(letter != *other);
            diagonal = row[column + 1];
            row[column + 1] = changed.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_leads_back_to_its_controller() {
        for name in ControllerName::all() {
            assert_eq!(name.as_str().parse(), Ok(name));
        }
        assert_eq!("kube-scheduler".parse(), Ok(ControllerName::Scheduler));
    }

    #[test]
    fn a_similar_name_is_suggested_and_a_strange_one_is_not() {
        let error = "replica-set".parse::<ControllerName>().unwrap_err();
        assert_eq!(error.nearest, Some(ControllerName::ReplicaSet));
        let error = "coffee-machine".parse::<ControllerName>().unwrap_err();
        assert_eq!(error.nearest, None);
        assert!(
            error
                .to_string()
                .starts_with("there is no controller \"coffee-machine\"; the controllers are: gc, ")
        );
    }
}
