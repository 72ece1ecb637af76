//! Which admission plugins are on, and what they are told.

/// An admission plugin that this server has, by its name in Kubernetes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AdmissionPlugin {
    /// A namespace that is not there is made. Off by default.
    NamespaceAutoProvision,
    /// Nothing is created in a namespace that is not there, or on its way out.
    NamespaceLifecycle,
    /// Nothing is written in a namespace that is not there. Off by default.
    NamespaceExists,
    /// Pods keep others off their node at most. Off by default.
    LimitPodHardAntiAffinityTopology,
    /// Containers, Pods and claims keep to the `LimitRange`s of their namespace.
    LimitRanger,
    /// Pods run as a service account of their namespace. Off by default.
    ServiceAccount,
    /// New nodes are tainted as not ready.
    TaintNodesByCondition,
    /// Containers always pull their images. Off by default.
    AlwaysPullImages,
    /// Pods keep to the Pod Security Standards that labels of their namespace name.
    PodSecurity,
    /// Pods get the node selector that an annotation of their namespace has. Off by default.
    PodNodeSelector,
    /// Pods get the number of their priority class.
    Priority,
    /// Pods tolerate unready and unreachable nodes for a while.
    DefaultTolerationSeconds,
    /// Claims that name no class get the default one.
    DefaultStorageClass,
    /// Volumes and claims in use are not deleted.
    StorageObjectInUseProtection,
    /// Who changes the owners of an object may delete it. Off by default.
    OwnerReferencesPermissionEnforcement,
    /// Claims grow only if they are bound and their class allows it.
    PersistentVolumeClaimResize,
    /// Pods get the overhead and the scheduling of their runtime class.
    RuntimeClass,
    /// Ingresses that name no class get the default one.
    DefaultIngressClass,
    /// Services take up no external addresses. Off by default.
    DenyServiceExternalIPs,
    /// Pods get the labels that say where their node is.
    PodTopologyLabels,
    /// Pods change only as their node can.
    NodeDeclaredFeatureValidator,
    /// Pods are resized only to what their node has.
    PodResizeValidator,
    /// Policies of `MutatingAdmissionPolicies`.
    MutatingAdmissionPolicy,
    /// Webhooks of `MutatingWebhookConfiguration`s.
    MutatingAdmissionWebhook,
    /// Policies of `ValidatingAdmissionPolicies`.
    ValidatingAdmissionPolicy,
    /// Webhooks of `ValidatingWebhookConfiguration`s.
    ValidatingAdmissionWebhook,
    /// What is created in a namespace keeps to its `ResourceQuota`s.
    ResourceQuota,
}

impl AdmissionPlugin {
    /// All of them, in Kubernetes' order.
    pub const ALL: [AdmissionPlugin; 27] = [
        AdmissionPlugin::NamespaceAutoProvision,
        AdmissionPlugin::NamespaceLifecycle,
        AdmissionPlugin::NamespaceExists,
        AdmissionPlugin::LimitPodHardAntiAffinityTopology,
        AdmissionPlugin::LimitRanger,
        AdmissionPlugin::ServiceAccount,
        AdmissionPlugin::TaintNodesByCondition,
        AdmissionPlugin::AlwaysPullImages,
        AdmissionPlugin::PodSecurity,
        AdmissionPlugin::PodNodeSelector,
        AdmissionPlugin::Priority,
        AdmissionPlugin::DefaultTolerationSeconds,
        AdmissionPlugin::DefaultStorageClass,
        AdmissionPlugin::StorageObjectInUseProtection,
        AdmissionPlugin::OwnerReferencesPermissionEnforcement,
        AdmissionPlugin::PersistentVolumeClaimResize,
        AdmissionPlugin::RuntimeClass,
        AdmissionPlugin::DefaultIngressClass,
        AdmissionPlugin::DenyServiceExternalIPs,
        AdmissionPlugin::PodTopologyLabels,
        AdmissionPlugin::NodeDeclaredFeatureValidator,
        AdmissionPlugin::PodResizeValidator,
        AdmissionPlugin::MutatingAdmissionPolicy,
        AdmissionPlugin::MutatingAdmissionWebhook,
        AdmissionPlugin::ValidatingAdmissionPolicy,
        AdmissionPlugin::ValidatingAdmissionWebhook,
        AdmissionPlugin::ResourceQuota,
    ];

    /// Its name in Kubernetes.
    pub fn name(self) -> &'static str {
        match self {
            AdmissionPlugin::NamespaceAutoProvision => "NamespaceAutoProvision",
            AdmissionPlugin::NamespaceLifecycle => "NamespaceLifecycle",
            AdmissionPlugin::NamespaceExists => "NamespaceExists",
            AdmissionPlugin::LimitPodHardAntiAffinityTopology => "LimitPodHardAntiAffinityTopology",
            AdmissionPlugin::LimitRanger => "LimitRanger",
            AdmissionPlugin::ServiceAccount => "ServiceAccount",
            AdmissionPlugin::TaintNodesByCondition => "TaintNodesByCondition",
            AdmissionPlugin::AlwaysPullImages => "AlwaysPullImages",
            AdmissionPlugin::PodSecurity => "PodSecurity",
            AdmissionPlugin::PodNodeSelector => "PodNodeSelector",
            AdmissionPlugin::Priority => "Priority",
            AdmissionPlugin::DefaultTolerationSeconds => "DefaultTolerationSeconds",
            AdmissionPlugin::DefaultStorageClass => "DefaultStorageClass",
            AdmissionPlugin::StorageObjectInUseProtection => "StorageObjectInUseProtection",
            AdmissionPlugin::OwnerReferencesPermissionEnforcement => "OwnerReferencesPermissionEnforcement",
            AdmissionPlugin::PersistentVolumeClaimResize => "PersistentVolumeClaimResize",
            AdmissionPlugin::RuntimeClass => "RuntimeClass",
            AdmissionPlugin::DefaultIngressClass => "DefaultIngressClass",
            AdmissionPlugin::DenyServiceExternalIPs => "DenyServiceExternalIPs",
            AdmissionPlugin::PodTopologyLabels => "PodTopologyLabels",
            AdmissionPlugin::NodeDeclaredFeatureValidator => "NodeDeclaredFeatureValidator",
            AdmissionPlugin::PodResizeValidator => "PodResizeValidator",
            AdmissionPlugin::MutatingAdmissionPolicy => "MutatingAdmissionPolicy",
            AdmissionPlugin::ValidatingAdmissionPolicy => "ValidatingAdmissionPolicy",
            AdmissionPlugin::MutatingAdmissionWebhook => "MutatingAdmissionWebhook",
            AdmissionPlugin::ValidatingAdmissionWebhook => "ValidatingAdmissionWebhook",
            AdmissionPlugin::ResourceQuota => "ResourceQuota",
        }
    }

    /// Whether it is on unless somebody says otherwise. As in Go's test environment, [`AdmissionPlugin::ServiceAccount`] is
    /// not; all others are or are not as in kube-apiserver.
    pub fn is_on_by_default(self) -> bool {
        !matches!(
            self,
            AdmissionPlugin::NamespaceAutoProvision
                | AdmissionPlugin::NamespaceExists
                | AdmissionPlugin::LimitPodHardAntiAffinityTopology
                | AdmissionPlugin::ServiceAccount
                | AdmissionPlugin::AlwaysPullImages
                | AdmissionPlugin::PodNodeSelector
                | AdmissionPlugin::OwnerReferencesPermissionEnforcement
                | AdmissionPlugin::DenyServiceExternalIPs
        )
    }

    fn bit(self) -> u64 {
        1 << self as u64
    }
}

/// Which plugins are on, and what they are told.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    /// A bit for each plugin that is on.
    on: u64,
    /// How long Pods tolerate a node that is not ready, and one that cannot be reached.
    pub(crate) toleration_seconds: [i64; 2],
}

impl Default for Settings {
    fn default() -> Self {
        let mut settings = Settings {
            on: 0,
            toleration_seconds: [300; 2],
        };
        for plugin in AdmissionPlugin::ALL {
            settings.set(plugin, plugin.is_on_by_default());
        }
        settings
    }
}

impl Settings {
    pub(crate) fn set(&mut self, plugin: AdmissionPlugin, on: bool) {
        if on {
            self.on |= plugin.bit();
        } else {
            self.on &= !plugin.bit();
        }
    }

    pub(crate) fn has(&self, plugin: AdmissionPlugin) -> bool {
        self.on & plugin.bit() != 0
    }
}
