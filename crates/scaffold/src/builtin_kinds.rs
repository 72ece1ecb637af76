//! The kinds of Kubernetes itself that a project can reconcile or have webhooks for.

/// One group of Kubernetes in one version.
pub(crate) struct Group {
    /// The name in flags and in PROJECT.
    pub(crate) name: &'static str,
    /// What follows the name in `apiVersion`.
    pub(crate) domain: &'static str,
    /// Where its types are, below `k8s_openapi::api`.
    pub(crate) module: &'static str,
    version: &'static str,
    namespaced: &'static [&'static str],
    cluster: &'static [&'static str],
}

impl Group {
    fn has(&self, kind: &str) -> bool {
        self.namespaced.contains(&kind) || self.cluster.contains(&kind)
    }
}

const fn group(
    name: &'static str,
    domain: &'static str,
    version: &'static str,
    namespaced: &'static [&'static str],
    cluster: &'static [&'static str],
) -> Group {
    Group {
        name,
        domain,
        module: name,
        version,
        namespaced,
        cluster,
    }
}

/// The groups whose kinds can be watched, as Kubernetes 1.36 serves them without switches.
static GROUPS: [Group; 18] = [
    group(
        "core",
        "",
        "v1",
        &[
            "ConfigMap",
            "Endpoints",
            "Event",
            "LimitRange",
            "PersistentVolumeClaim",
            "Pod",
            "PodTemplate",
            "ReplicationController",
            "ResourceQuota",
            "Secret",
            "Service",
            "ServiceAccount",
        ],
        &["Namespace", "Node", "PersistentVolume"],
    ),
    group(
        "admissionregistration",
        "k8s.io",
        "v1",
        &[],
        &[
            "MutatingAdmissionPolicy",
            "MutatingAdmissionPolicyBinding",
            "MutatingWebhookConfiguration",
            "ValidatingAdmissionPolicy",
            "ValidatingAdmissionPolicyBinding",
            "ValidatingWebhookConfiguration",
        ],
    ),
    group(
        "apps",
        "",
        "v1",
        &[
            "ControllerRevision",
            "DaemonSet",
            "Deployment",
            "ReplicaSet",
            "StatefulSet",
        ],
        &[],
    ),
    group("autoscaling", "", "v1", &["HorizontalPodAutoscaler"], &[]),
    group("autoscaling", "", "v2", &["HorizontalPodAutoscaler"], &[]),
    group("batch", "", "v1", &["CronJob", "Job"], &[]),
    group("certificates", "k8s.io", "v1", &[], &["CertificateSigningRequest"]),
    group("coordination", "k8s.io", "v1", &["Lease"], &[]),
    group("discovery", "k8s.io", "v1", &["EndpointSlice"], &[]),
    group("events", "k8s.io", "v1", &["Event"], &[]),
    Group {
        module: "flowcontrol",
        ..group(
            "flowcontrol.apiserver",
            "k8s.io",
            "v1",
            &[],
            &["FlowSchema", "PriorityLevelConfiguration"],
        )
    },
    group(
        "networking",
        "k8s.io",
        "v1",
        &["Ingress", "NetworkPolicy"],
        &["IPAddress", "IngressClass", "ServiceCIDR"],
    ),
    group("node", "k8s.io", "v1", &[], &["RuntimeClass"]),
    group("policy", "", "v1", &["PodDisruptionBudget"], &[]),
    Group {
        module: "rbac",
        ..group(
            "rbac.authorization",
            "k8s.io",
            "v1",
            &["Role", "RoleBinding"],
            &["ClusterRole", "ClusterRoleBinding"],
        )
    },
    group(
        "resource",
        "k8s.io",
        "v1",
        &["ResourceClaim", "ResourceClaimTemplate"],
        &["DeviceClass", "ResourceSlice"],
    ),
    group("scheduling", "k8s.io", "v1", &[], &["PriorityClass"]),
    group(
        "storage",
        "k8s.io",
        "v1",
        &["CSIStorageCapacity"],
        &[
            "CSIDriver",
            "CSINode",
            "StorageClass",
            "VolumeAttachment",
            "VolumeAttributesClass",
        ],
    ),
];

/// Whether a group is one of Kubernetes, as users write it (`apps`, `core`, `networking`).
pub(crate) fn is_group(name: &str) -> bool {
    GROUPS.iter().any(|group| group.name == name)
}

/// The group of a kind of Kubernetes.
pub(crate) fn find(name: &str, version: &str, kind: &str) -> Option<&'static Group> {
    GROUPS
        .iter()
        .find(|group| group.name == name && group.version == version && group.has(kind))
}

/// Whether objects of a kind live in namespaces; where it is not known they do.
pub(crate) fn is_namespaced(name: &str, version: &str, kind: &str) -> bool {
    find(name, version, kind).is_none_or(|group| group.namespaced.contains(&kind))
}

/// The kinds of a group, for messages: `v1: Deployment, StatefulSet`.
pub(crate) fn choices(name: &str) -> String {
    let of = |group: &Group| {
        let kinds: Vec<&str> = group.namespaced.iter().chain(group.cluster).copied().collect();
        format!("{}: {}", group.version, kinds.join(", "))
    };
    let groups: Vec<String> = GROUPS.iter().filter(|group| group.name == name).map(of).collect();
    groups.join("; ")
}
