//! The hooks of a kind that the server calls during a write, and which kind belongs to which resource. A new kind
//! implements [`Behaviour`] and gets a line in [`behaviour`].

use kubewright_apimachinery::field::Errors;
use serde_json::Value;

use crate::admissionregistration as admission;
use crate::rules::access::{keep, remove};
use crate::{
    apiregistration, autoscaling, batch, certificates, controller_revision, coordination, core_group, device_claims,
    discovery, events, flowcontrol, networking, pod, policy, rbac, resource_slice, runtime_class, scheduling, service,
    storage, workloads,
};

/// A create in flight, after decoding and the table's defaults.
pub struct Create<'a> {
    /// The object; `ObjectMeta`'s system fields are filled by the server, not here.
    pub object: &'a mut Value,
}

impl Create<'_> {
    /// Sets this status, whatever was sent.
    pub(crate) fn set_status(&mut self, status: Value) {
        if let Some(object) = self.object.as_object_mut() {
            object.insert("status".to_owned(), status);
        }
    }
}

/// An update in flight: the new object as merged and defaulted, and the stored one it replaces.
pub struct Update<'a> {
    /// The new object.
    pub object: &'a mut Value,
    /// The stored object.
    pub old: &'a Value,
    /// The subresource written through (`status`, `scale`, …); `None` for the object itself.
    pub subresource: Option<&'a str>,
}

impl Update<'_> {
    /// Takes over from the stored object what this write does not change: a write of `status` keeps everything but the
    /// status and the metadata, any other keeps the status (W8).
    pub fn keep_unwritten(&mut self) {
        if self.subresource != Some("status") {
            keep(self.object, self.old, &["status"]);
            return;
        }
        let (Some(object), Some(old)) = (self.object.as_object_mut(), self.old.as_object()) else {
            return;
        };
        let mut kept = old.clone();
        kept.remove("status");
        kept.extend(
            ["metadata", "status"]
                .into_iter()
                .filter_map(|field| object.remove_entry(field)),
        );
        *object = kept;
    }
}

/// What a kind adds to the generic rules. Every method has the generic answer as its default.
pub trait Behaviour: Sync {
    /// Defaults that depend on other fields; runs after the table's unconditional ones, on every write.
    fn default(&self, _object: &mut Value) {}

    /// The fields the kind's strategy sets or clears before a create is validated (status is reset here).
    fn prepare_create(&self, create: Create<'_>) {
        remove(create.object, &["status"]);
    }

    /// The fields the kind's strategy restores before an update is validated: by default the object keeps its stored
    /// status, and a status update keeps everything else (W8).
    fn prepare_update(&self, mut update: Update<'_>) {
        update.keep_unwritten();
    }

    /// Whether upstream stores a new object without some of the defaults that it reads it with: its strategy makes room for
    /// them after they were set. Then the first write stores the object anew, even if nothing changes.
    fn is_created_without_defaults(&self, _object: &Value) -> bool {
        false
    }

    /// Those of the rules for new and for changed objects that come before what upstream says of metadata.
    fn validate_before_metadata(&self, _object: &Value, _errors: &mut Errors) {}

    /// Everything wrong with a new object, `ObjectMeta`'s own rules excepted.
    fn validate_create(&self, _object: &Value, _errors: &mut Errors) {}

    /// Everything wrong with a change, `ObjectMeta`'s own rules excepted.
    fn validate_update(&self, _object: &Value, _old: &Value, _subresource: Option<&str>, _errors: &mut Errors) {}

    /// The `Warning` headers of this write.
    fn warnings(&self, _object: &Value, _old: Option<&Value>) -> Vec<String> {
        Vec::new()
    }

    /// The `Warning` headers of a write of `status`, instead of those.
    fn status_warnings(&self, _object: &Value) -> Vec<String> {
        Vec::new()
    }
}

/// A kind without rules of its own.
pub(crate) struct Generic;

impl Behaviour for Generic {}

/// What the kind behind `group` and `resource` (plural) adds; the generic answers when nothing.
pub fn behaviour(group: &str, resource: &str) -> &'static dyn Behaviour {
    match (group, resource) {
        ("", "configmaps") => &core_group::ConfigMap,
        ("", "endpoints") => &core_group::Endpoints,
        ("", "events") => &events::CoreEvent,
        ("", "limitranges") => &core_group::LimitRange,
        ("", "namespaces") => &core_group::Namespace,
        ("", "nodes") => &core_group::Node,
        ("", "persistentvolumeclaims") => &core_group::PersistentVolumeClaim,
        ("", "persistentvolumes") => &core_group::PersistentVolume,
        ("", "pods") => &pod::Pod,
        ("", "podtemplates") => &core_group::PodTemplate,
        ("", "replicationcontrollers") => &workloads::ReplicationController,
        ("", "resourcequotas") => &core_group::ResourceQuota,
        ("", "secrets") => &core_group::Secret,
        ("", "serviceaccounts") => &core_group::ServiceAccount,
        ("", "services") => &service::Service,
        ("admissionregistration.k8s.io", "mutatingadmissionpolicies") => &admission::MutatingAdmissionPolicy,
        ("admissionregistration.k8s.io", "mutatingadmissionpolicybindings") => {
            &admission::MutatingAdmissionPolicyBinding
        }
        ("admissionregistration.k8s.io", "mutatingwebhookconfigurations") => &admission::MutatingWebhookConfiguration,
        ("admissionregistration.k8s.io", "validatingadmissionpolicies") => &admission::ValidatingAdmissionPolicy,
        ("admissionregistration.k8s.io", "validatingadmissionpolicybindings") => {
            &admission::ValidatingAdmissionPolicyBinding
        }
        ("admissionregistration.k8s.io", "validatingwebhookconfigurations") => {
            &admission::ValidatingWebhookConfiguration
        }
        ("apiregistration.k8s.io", "apiservices") => &apiregistration::ApiService,
        ("apps", "controllerrevisions") => &controller_revision::ControllerRevision,
        ("apps", "daemonsets") => &workloads::DaemonSet,
        ("apps", "deployments") => &workloads::Deployment,
        ("apps", "replicasets") => &workloads::ReplicaSet,
        ("apps", "statefulsets") => &workloads::StatefulSet,
        ("autoscaling", "horizontalpodautoscalers") => &autoscaling::HorizontalPodAutoscaler,
        ("batch", "cronjobs") => &batch::CronJob,
        ("batch", "jobs") => &batch::Job,
        ("certificates.k8s.io", "certificatesigningrequests") => &certificates::CertificateSigningRequest,
        ("coordination.k8s.io", "leases") => &coordination::Lease,
        ("discovery.k8s.io", "endpointslices") => &discovery::EndpointSlice,
        ("events.k8s.io", "events") => &events::Event,
        ("flowcontrol.apiserver.k8s.io", "flowschemas") => &flowcontrol::FlowSchema,
        ("flowcontrol.apiserver.k8s.io", "prioritylevelconfigurations") => &flowcontrol::PriorityLevelConfiguration,
        ("networking.k8s.io", "ingressclasses") => &networking::IngressClass,
        ("networking.k8s.io", "ingresses") => &networking::Ingress,
        ("networking.k8s.io", "ipaddresses") => &networking::IpAddress,
        ("networking.k8s.io", "networkpolicies") => &networking::NetworkPolicy,
        ("networking.k8s.io", "servicecidrs") => &networking::ServiceCidr,
        ("node.k8s.io", "runtimeclasses") => &runtime_class::RuntimeClass,
        ("policy", "poddisruptionbudgets") => &policy::PodDisruptionBudget,
        ("rbac.authorization.k8s.io", "clusterrolebindings") => &rbac::ClusterRoleBinding,
        ("rbac.authorization.k8s.io", "clusterroles") => &rbac::ClusterRole,
        ("rbac.authorization.k8s.io", "rolebindings") => &rbac::RoleBinding,
        ("rbac.authorization.k8s.io", "roles") => &rbac::Role,
        ("resource.k8s.io", "deviceclasses") => &device_claims::DeviceClass,
        ("resource.k8s.io", "resourceclaims") => &device_claims::ResourceClaim,
        ("resource.k8s.io", "resourceclaimtemplates") => &device_claims::ResourceClaimTemplate,
        ("resource.k8s.io", "resourceslices") => &resource_slice::ResourceSlice,
        ("scheduling.k8s.io", "priorityclasses") => &scheduling::PriorityClass,
        ("storage.k8s.io", "csidrivers") => &storage::CsiDriver,
        ("storage.k8s.io", "csinodes") => &storage::CsiNode,
        ("storage.k8s.io", "csistoragecapacities") => &storage::CsiStorageCapacity,
        ("storage.k8s.io", "storageclasses") => &storage::StorageClass,
        ("storage.k8s.io", "volumeattachments") => &storage::VolumeAttachment,
        ("storage.k8s.io", "volumeattributesclasses") => &storage::VolumeAttributesClass,
        _ => &Generic,
    }
}
