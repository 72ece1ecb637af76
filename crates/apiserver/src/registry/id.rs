//! The built-in resources that the server's own code speaks of, by constants: a name that is misspelt does not compile.

use std::sync::Arc;

use super::{Registry, Resource};

macro_rules! built_in_ids {
    ($($id:ident = $group:literal $plural:literal,)*) => {
        /// A built-in resource, in any of its versions.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub(crate) enum BuiltInId {
            $($id,)*
        }

        impl BuiltInId {
            /// All of them, in the order of their numbers.
            pub(super) const ALL: &[BuiltInId] = &[$(BuiltInId::$id,)*];

            /// The resource of a group and a plural name, if code speaks of it.
            pub(super) fn find(group: &str, plural: &str) -> Option<BuiltInId> {
                match (group, plural) {
                    $(($group, $plural) => Some(BuiltInId::$id),)*
                    _ => None,
                }
            }

            pub(crate) fn group(self) -> &'static str {
                match self {
                    $(BuiltInId::$id => $group,)*
                }
            }

            pub(crate) fn plural(self) -> &'static str {
                match self {
                    $(BuiltInId::$id => $plural,)*
                }
            }
        }
    };
}

built_in_ids! {
    Bindings = "" "bindings",
    ComponentStatuses = "" "componentstatuses",
    ConfigMaps = "" "configmaps",
    Endpoints = "" "endpoints",
    LimitRanges = "" "limitranges",
    Namespaces = "" "namespaces",
    Nodes = "" "nodes",
    PersistentVolumeClaims = "" "persistentvolumeclaims",
    PersistentVolumes = "" "persistentvolumes",
    Pods = "" "pods",
    ReplicationControllers = "" "replicationcontrollers",
    ResourceQuotas = "" "resourcequotas",
    Secrets = "" "secrets",
    ServiceAccounts = "" "serviceaccounts",
    Services = "" "services",
    MutatingAdmissionPolicies = "admissionregistration.k8s.io" "mutatingadmissionpolicies",
    MutatingAdmissionPolicyBindings = "admissionregistration.k8s.io" "mutatingadmissionpolicybindings",
    MutatingWebhookConfigurations = "admissionregistration.k8s.io" "mutatingwebhookconfigurations",
    ValidatingAdmissionPolicies = "admissionregistration.k8s.io" "validatingadmissionpolicies",
    ValidatingAdmissionPolicyBindings = "admissionregistration.k8s.io" "validatingadmissionpolicybindings",
    ValidatingWebhookConfigurations = "admissionregistration.k8s.io" "validatingwebhookconfigurations",
    CustomResourceDefinitions = "apiextensions.k8s.io" "customresourcedefinitions",
    ApiServices = "apiregistration.k8s.io" "apiservices",
    SelfSubjectReviews = "authentication.k8s.io" "selfsubjectreviews",
    TokenReviews = "authentication.k8s.io" "tokenreviews",
    LocalSubjectAccessReviews = "authorization.k8s.io" "localsubjectaccessreviews",
    SelfSubjectAccessReviews = "authorization.k8s.io" "selfsubjectaccessreviews",
    SelfSubjectRulesReviews = "authorization.k8s.io" "selfsubjectrulesreviews",
    SubjectAccessReviews = "authorization.k8s.io" "subjectaccessreviews",
    Jobs = "batch" "jobs",
    CertificateSigningRequests = "certificates.k8s.io" "certificatesigningrequests",
    Leases = "coordination.k8s.io" "leases",
    EndpointSlices = "discovery.k8s.io" "endpointslices",
    IpAddresses = "networking.k8s.io" "ipaddresses",
    IngressClasses = "networking.k8s.io" "ingressclasses",
    Ingresses = "networking.k8s.io" "ingresses",
    RuntimeClasses = "node.k8s.io" "runtimeclasses",
    PodDisruptionBudgets = "policy" "poddisruptionbudgets",
    ClusterRoleBindings = "rbac.authorization.k8s.io" "clusterrolebindings",
    ClusterRoles = "rbac.authorization.k8s.io" "clusterroles",
    RoleBindings = "rbac.authorization.k8s.io" "rolebindings",
    Roles = "rbac.authorization.k8s.io" "roles",
    ResourceSlices = "resource.k8s.io" "resourceslices",
    PriorityClasses = "scheduling.k8s.io" "priorityclasses",
    CsiDrivers = "storage.k8s.io" "csidrivers",
    CsiNodes = "storage.k8s.io" "csinodes",
    StorageClasses = "storage.k8s.io" "storageclasses",
    VolumeAttachments = "storage.k8s.io" "volumeattachments",
    VolumeAttributesClasses = "storage.k8s.io" "volumeattributesclasses",
}

impl BuiltInId {
    /// The resource in its version `v1`, which each of them has.
    pub(crate) fn resource(self) -> &'static Arc<Resource> {
        Registry::builtin().by_id(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_id_is_a_resource_that_is_served() {
        for id in BuiltInId::ALL {
            let resource = id.resource();
            assert_eq!((&*resource.group, &*resource.plural), (id.group(), id.plural()));
            assert!(resource.is(*id));
        }
    }
}
