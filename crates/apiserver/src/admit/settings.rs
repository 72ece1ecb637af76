//! Which admission plugins are on, and what they are told.

use std::sync::Arc;

use kubewright_pod_security::Configuration as PodSecurityConfiguration;
use serde_json::Value;

use super::event_rate_limit::EventLimit;
use super::image_policy::ImagePolicy;
use super::pod_tolerations::TolerationLimits;

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
    /// Kubelets write what is about their own node. Off by default.
    NodeRestriction,
    /// New nodes are tainted as not ready.
    TaintNodesByCondition,
    /// Containers always pull their images. Off by default.
    AlwaysPullImages,
    /// A webhook that its configuration names says which images Pods may have. Off by default; without a configuration it refuses Pods.
    ImagePolicyWebhook,
    /// Pods keep to the Pod Security Standards that labels of their namespace name.
    PodSecurity,
    /// Pods get the node selector that an annotation of their namespace has. Off by default.
    PodNodeSelector,
    /// Pods get the number of their priority class.
    Priority,
    /// Pods tolerate unready and unreachable nodes for a while.
    DefaultTolerationSeconds,
    /// Pods get the tolerations of their namespace, and have no others than it allows. Off by default.
    PodTolerationRestriction,
    /// Events come no faster than its configuration allows. Off by default.
    EventRateLimit,
    /// Pods tolerate the nodes whose devices they ask for. Off by default.
    ExtendedResourceToleration,
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
    /// Who approves a request for a certificate has the right to for its signer.
    CertificateApproval,
    /// Who signs one has the right to for its signer.
    CertificateSigning,
    /// Nobody asks for a certificate of the group `system:masters`.
    CertificateSubjectRestriction,
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
    pub const ALL: [AdmissionPlugin; 35] = [
        AdmissionPlugin::NamespaceAutoProvision,
        AdmissionPlugin::NamespaceLifecycle,
        AdmissionPlugin::NamespaceExists,
        AdmissionPlugin::LimitPodHardAntiAffinityTopology,
        AdmissionPlugin::LimitRanger,
        AdmissionPlugin::ServiceAccount,
        AdmissionPlugin::NodeRestriction,
        AdmissionPlugin::TaintNodesByCondition,
        AdmissionPlugin::AlwaysPullImages,
        AdmissionPlugin::ImagePolicyWebhook,
        AdmissionPlugin::PodSecurity,
        AdmissionPlugin::PodNodeSelector,
        AdmissionPlugin::Priority,
        AdmissionPlugin::DefaultTolerationSeconds,
        AdmissionPlugin::PodTolerationRestriction,
        AdmissionPlugin::EventRateLimit,
        AdmissionPlugin::ExtendedResourceToleration,
        AdmissionPlugin::DefaultStorageClass,
        AdmissionPlugin::StorageObjectInUseProtection,
        AdmissionPlugin::OwnerReferencesPermissionEnforcement,
        AdmissionPlugin::PersistentVolumeClaimResize,
        AdmissionPlugin::RuntimeClass,
        AdmissionPlugin::CertificateApproval,
        AdmissionPlugin::CertificateSigning,
        AdmissionPlugin::CertificateSubjectRestriction,
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
            AdmissionPlugin::NodeRestriction => "NodeRestriction",
            AdmissionPlugin::TaintNodesByCondition => "TaintNodesByCondition",
            AdmissionPlugin::AlwaysPullImages => "AlwaysPullImages",
            AdmissionPlugin::ImagePolicyWebhook => "ImagePolicyWebhook",
            AdmissionPlugin::PodSecurity => "PodSecurity",
            AdmissionPlugin::PodNodeSelector => "PodNodeSelector",
            AdmissionPlugin::Priority => "Priority",
            AdmissionPlugin::DefaultTolerationSeconds => "DefaultTolerationSeconds",
            AdmissionPlugin::PodTolerationRestriction => "PodTolerationRestriction",
            AdmissionPlugin::EventRateLimit => "EventRateLimit",
            AdmissionPlugin::ExtendedResourceToleration => "ExtendedResourceToleration",
            AdmissionPlugin::DefaultStorageClass => "DefaultStorageClass",
            AdmissionPlugin::StorageObjectInUseProtection => "StorageObjectInUseProtection",
            AdmissionPlugin::OwnerReferencesPermissionEnforcement => "OwnerReferencesPermissionEnforcement",
            AdmissionPlugin::PersistentVolumeClaimResize => "PersistentVolumeClaimResize",
            AdmissionPlugin::RuntimeClass => "RuntimeClass",
            AdmissionPlugin::CertificateApproval => "CertificateApproval",
            AdmissionPlugin::CertificateSigning => "CertificateSigning",
            AdmissionPlugin::CertificateSubjectRestriction => "CertificateSubjectRestriction",
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
                | AdmissionPlugin::NodeRestriction
                | AdmissionPlugin::AlwaysPullImages
                | AdmissionPlugin::ImagePolicyWebhook
                | AdmissionPlugin::PodNodeSelector
                | AdmissionPlugin::PodTolerationRestriction
                | AdmissionPlugin::EventRateLimit
                | AdmissionPlugin::ExtendedResourceToleration
                | AdmissionPlugin::OwnerReferencesPermissionEnforcement
                | AdmissionPlugin::DenyServiceExternalIPs
        )
    }

    fn bit(self) -> u64 {
        1 << self as u64
    }
}

/// Which plugins are on, and what they are told.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    /// A bit for each plugin that is on.
    on: u64,
    /// How long Pods tolerate a node that is not ready, and one that cannot be reached.
    pub(crate) toleration_seconds: [i64; 2],
    /// What holds for Pods of all namespaces.
    pub(crate) pod_security: Arc<PodSecurityConfiguration>,
    /// How fast events may come.
    pub(crate) event_limits: Vec<EventLimit>,
    /// Which tolerations Pods get and may have where their namespace does not say.
    pub(crate) tolerations: Arc<TolerationLimits>,
    /// Who says which images Pods may have.
    pub(crate) image_policy: Option<Arc<ImagePolicy>>,
}

/// Why a configuration of a plugin cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AdmissionConfigurationError {
    /// The plugin has none.
    #[error("the admission plugin {} takes no configuration here", .0.name())]
    NotConfigurable(AdmissionPlugin),
    /// It is of another kind than the plugin's.
    #[error("the configuration of the admission plugin {} is a {wanted}, not a {given:?}", .plugin.name())]
    OtherKind {
        /// The plugin.
        plugin: AdmissionPlugin,
        /// The kind of its configuration, with group and version.
        wanted: &'static str,
        /// What it was given.
        given: String,
    },
    /// It is mistaken; in Kubernetes' words.
    #[error("{0}")]
    Invalid(String),
}

impl Default for Settings {
    fn default() -> Self {
        let mut settings = Settings {
            on: 0,
            toleration_seconds: [300; 2],
            pod_security: Arc::default(),
            event_limits: Vec::new(),
            tolerations: Arc::default(),
            image_policy: None,
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

    /// Tells a plugin what holds for it.
    pub(crate) fn configure(
        &mut self,
        plugin: AdmissionPlugin,
        configuration: &Value,
    ) -> Result<(), AdmissionConfigurationError> {
        let invalid = AdmissionConfigurationError::Invalid;
        if plugin == AdmissionPlugin::ImagePolicyWebhook {
            // It has no kind.
            self.image_policy = Some(Arc::new(ImagePolicy::read(configuration).map_err(invalid)?));
            return Ok(());
        }
        let wanted = match plugin {
            AdmissionPlugin::PodSecurity => "pod-security.admission.config.k8s.io/v1 PodSecurityConfiguration",
            AdmissionPlugin::EventRateLimit => "eventratelimit.admission.k8s.io/v1alpha1 Configuration",
            AdmissionPlugin::PodTolerationRestriction => {
                "podtolerationrestriction.admission.k8s.io/v1alpha1 Configuration"
            }
            _ => return Err(AdmissionConfigurationError::NotConfigurable(plugin)),
        };
        let text = |key: &str| configuration.get(key).and_then(Value::as_str).unwrap_or_default();
        let given = format!("{} {}", text("apiVersion"), text("kind"));
        if given != wanted {
            return Err(AdmissionConfigurationError::OtherKind { plugin, wanted, given });
        }
        match plugin {
            AdmissionPlugin::PodSecurity => {
                self.pod_security = Arc::new(PodSecurityConfiguration::read(configuration).map_err(invalid)?);
            }
            AdmissionPlugin::PodTolerationRestriction => {
                self.tolerations = Arc::new(TolerationLimits::read(configuration).map_err(invalid)?);
            }
            _ => self.event_limits = EventLimit::read(configuration).map_err(invalid)?,
        }
        Ok(())
    }

    pub(crate) fn has(&self, plugin: AdmissionPlugin) -> bool {
        self.on & plugin.bit() != 0
    }
}
