//! Whose task it is to make a volume for a claim, by its class: pure.

use k8s_openapi::api::core::v1::PersistentVolumeClaim;
use k8s_openapi::api::storage::v1::StorageClass;
use kubewright_runtime::events::EventNote;

/// On claims: who is to make a volume. The second one is older.
const PROVISIONER: &str = "volume.kubernetes.io/storage-provisioner";
const BETA_PROVISIONER: &str = "volume.beta.kubernetes.io/storage-provisioner";
/// On claims and volumes: the driver that has taken over from a plugin of Kubernetes.
pub(super) const MIGRATED_TO: &str = "pv.kubernetes.io/migrated-to";

/// The plugins that were part of Kubernetes, and the drivers that act for them.
const DRIVERS: [(&str, &str); 7] = [
    ("kubernetes.io/aws-ebs", "ebs.csi.aws.com"),
    ("kubernetes.io/azure-disk", "disk.csi.azure.com"),
    ("kubernetes.io/azure-file", "file.csi.azure.com"),
    ("kubernetes.io/cinder", "cinder.csi.openstack.org"),
    ("kubernetes.io/gce-pd", "pd.csi.storage.gke.io"),
    ("kubernetes.io/portworx-volume", "pxd.portworx.com"),
    ("kubernetes.io/vsphere-volume", "csi.vsphere.vmware.com"),
];

/// What is to be done to get a volume made.
#[derive(Debug, PartialEq)]
pub(super) struct Provisioning {
    /// Who makes it, if anybody does: it is written on the claim.
    pub(super) provisioner: Option<String>,
    /// What people are told.
    pub(super) note: EventNote,
}

/// Who makes a volume of a class. The class is `None` if there is none of that name.
pub(super) fn provisioning(name: &str, class: Option<&StorageClass>) -> Provisioning {
    let failed = |text: String| EventNote::warning("ProvisioningFailed", "Provision", text);
    let Some(class) = class else {
        let text = format!("storageclass.storage.k8s.io {name:?} not found");
        return Provisioning {
            provisioner: None,
            note: failed(text),
        };
    };
    let plugin = class.provisioner.as_str();
    let driver = DRIVERS
        .iter()
        .find(|(name, _)| *name == plugin)
        .map(|(_, driver)| *driver);
    match plugin.strip_prefix("kubernetes.io/") {
        Some("host-path") => Provisioning {
            provisioner: Some(plugin.to_owned()),
            note: failed(format!(
                "Failed to create provisioner: provisioning in volume plugin {plugin:?} is disabled"
            )),
        },
        Some("nfs") => Provisioning {
            provisioner: None,
            note: failed("no provisionable volume plugin matched".to_owned()),
        },
        Some(_) if driver.is_none() => Provisioning {
            provisioner: None,
            note: failed(format!("no volume plugin matched name: {plugin}")),
        },
        _ => {
            let provisioner = driver.unwrap_or(plugin);
            let text = format!(
                "Waiting for a volume to be created either by the external provisioner '{provisioner}' or manually by the \
                 system administrator. If volume creation is delayed, please verify that the provisioner is running and \
                 correctly registered."
            );
            Provisioning {
                provisioner: Some(provisioner.to_owned()),
                note: EventNote::normal("ExternalProvisioning", "Provision", text),
            }
        }
    }
}

/// A claim that says who is to make its volume, unless it says so.
pub(super) fn marked(claim: &PersistentVolumeClaim, provisioner: &str) -> Option<PersistentVolumeClaim> {
    let annotations = claim.metadata.annotations.as_ref();
    if annotations.and_then(|all| all.get(PROVISIONER)).map(String::as_str) == Some(provisioner) {
        return None;
    }
    let mut marked = claim.clone();
    let annotations = marked.metadata.annotations.get_or_insert_default();
    for annotation in [PROVISIONER, BETA_PROVISIONER] {
        annotations.insert(annotation.to_owned(), provisioner.to_owned());
    }
    Some(marked)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class(provisioner: &str) -> StorageClass {
        StorageClass {
            provisioner: provisioner.to_owned(),
            ..StorageClass::default()
        }
    }

    #[test]
    fn a_provisioner_outside_of_kubernetes_is_waited_for() {
        let found = provisioning("fast", Some(&class("example.com/disks")));
        assert_eq!(found.provisioner.as_deref(), Some("example.com/disks"));
        assert_eq!(found.note.reason, "ExternalProvisioning");
        let taken_over = provisioning("fast", Some(&class("kubernetes.io/aws-ebs")));
        assert_eq!(taken_over.provisioner.as_deref(), Some("ebs.csi.aws.com"));
    }

    #[test]
    fn a_class_that_is_missing_or_has_no_provisioner_is_told() {
        let missing = provisioning("fast", None);
        assert_eq!(missing.note.text, "storageclass.storage.k8s.io \"fast\" not found");
        let none = provisioning("fast", Some(&class("kubernetes.io/no-provisioner")));
        assert_eq!(none.provisioner, None);
        assert_eq!(
            none.note.text,
            "no volume plugin matched name: kubernetes.io/no-provisioner"
        );
    }

    #[test]
    fn a_claim_is_marked_once() {
        let marked_claim = marked(&PersistentVolumeClaim::default(), "example.com/disks").unwrap();
        assert_eq!(marked(&marked_claim, "example.com/disks"), None);
        assert!(marked(&marked_claim, "example.com/others").is_some());
    }
}
