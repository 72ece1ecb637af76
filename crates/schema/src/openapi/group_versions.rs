//! The group-versions that some shared kinds are known under in a document.

use crate::resources::{GroupVersion, resources};

/// Under which group-versions `DeleteOptions` and `WatchEvent` are known in a document.
#[derive(Clone, Copy)]
pub(super) enum GroupVersions {
    /// The core's and the document's own.
    Of(&'static GroupVersion),
    /// All that the server knows.
    All,
    /// All that clients know.
    OfClients,
}

/// What Kubernetes 1.36 knows and does not serve out of the box.
const NOT_SERVED: &[(&str, &[&str])] = &[
    ("admission.k8s.io", &["v1", "v1beta1"]),
    ("admissionregistration.k8s.io", &["v1alpha1", "v1beta1"]),
    ("apiextensions.k8s.io", &["v1beta1"]),
    ("apiregistration.k8s.io", &["v1beta1"]),
    ("apps", &["v1beta1", "v1beta2"]),
    ("authentication.k8s.io", &["v1alpha1", "v1beta1"]),
    ("authorization.k8s.io", &["v1beta1"]),
    ("batch", &["v1beta1"]),
    ("certificates.k8s.io", &["v1alpha1", "v1beta1"]),
    ("coordination.k8s.io", &["v1alpha2", "v1beta1"]),
    ("discovery.k8s.io", &["v1beta1"]),
    ("events.k8s.io", &["v1beta1"]),
    ("extensions", &["v1beta1"]),
    ("flowcontrol.apiserver.k8s.io", &["v1beta1", "v1beta2", "v1beta3"]),
    ("imagepolicy.k8s.io", &["v1alpha1"]),
    ("internal.apiserver.k8s.io", &["v1alpha1"]),
    ("networking.k8s.io", &["v1beta1"]),
    ("node.k8s.io", &["v1alpha1", "v1beta1"]),
    ("policy", &["v1beta1"]),
    ("rbac.authorization.k8s.io", &["v1alpha1", "v1beta1"]),
    ("resource.k8s.io", &["v1alpha3", "v1beta1", "v1beta2"]),
    ("scheduling.k8s.io", &["v1alpha2", "v1beta1"]),
    ("storage.k8s.io", &["v1alpha1", "v1beta1"]),
    ("storagemigration.k8s.io", &["v1beta1"]),
];

/// The groups that client libraries have no types for.
const OF_SERVERS: [&str; 4] = [
    "admission.k8s.io",
    "apiextensions.k8s.io",
    "apiregistration.k8s.io",
    "imagepolicy.k8s.io",
];

impl GroupVersions {
    /// The groups and versions, in order.
    pub(super) fn list(self) -> Vec<(&'static str, &'static str)> {
        if let GroupVersions::Of(gv) = self {
            let mut list = vec![("", "v1")];
            if !gv.group.is_empty() {
                list.push((gv.group, gv.version));
            }
            return list;
        }
        let served = resources().group_versions().map(|gv| (gv.group, gv.version));
        let others = NOT_SERVED
            .iter()
            .flat_map(|(group, versions)| versions.iter().map(|version| (*group, *version)));
        let is_listed =
            |(group, _): &(&str, &str)| !matches!(self, GroupVersions::OfClients) || !OF_SERVERS.contains(group);
        let mut list: Vec<_> = served.chain(others).filter(is_listed).collect();
        list.sort_unstable();
        list
    }
}
