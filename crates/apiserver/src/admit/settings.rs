//! Which admission plugins are on, and what they are told.

/// An admission plugin that this server has, by its name in Kubernetes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AdmissionPlugin {
    /// Nothing is created in a namespace that is not there, or on its way out.
    NamespaceLifecycle,
    /// Pods run as a service account of their namespace. Off by default.
    ServiceAccount,
    /// New nodes are tainted as not ready.
    TaintNodesByCondition,
    /// Pods get the number of their priority class.
    Priority,
    /// Pods tolerate unready and unreachable nodes for a while.
    DefaultTolerationSeconds,
    /// Volumes and claims in use are not deleted.
    StorageObjectInUseProtection,
    /// Webhooks of `MutatingWebhookConfiguration`s.
    MutatingAdmissionWebhook,
    /// Webhooks of `ValidatingWebhookConfiguration`s.
    ValidatingAdmissionWebhook,
}

impl AdmissionPlugin {
    /// All of them, in Kubernetes' order.
    pub const ALL: [AdmissionPlugin; 8] = [
        AdmissionPlugin::NamespaceLifecycle,
        AdmissionPlugin::ServiceAccount,
        AdmissionPlugin::TaintNodesByCondition,
        AdmissionPlugin::Priority,
        AdmissionPlugin::DefaultTolerationSeconds,
        AdmissionPlugin::StorageObjectInUseProtection,
        AdmissionPlugin::MutatingAdmissionWebhook,
        AdmissionPlugin::ValidatingAdmissionWebhook,
    ];

    /// Its name in Kubernetes.
    pub fn name(self) -> &'static str {
        match self {
            AdmissionPlugin::NamespaceLifecycle => "NamespaceLifecycle",
            AdmissionPlugin::ServiceAccount => "ServiceAccount",
            AdmissionPlugin::TaintNodesByCondition => "TaintNodesByCondition",
            AdmissionPlugin::Priority => "Priority",
            AdmissionPlugin::DefaultTolerationSeconds => "DefaultTolerationSeconds",
            AdmissionPlugin::StorageObjectInUseProtection => "StorageObjectInUseProtection",
            AdmissionPlugin::MutatingAdmissionWebhook => "MutatingAdmissionWebhook",
            AdmissionPlugin::ValidatingAdmissionWebhook => "ValidatingAdmissionWebhook",
        }
    }

    fn bit(self) -> u16 {
        1 << self as u16
    }
}

/// Which plugins are on, and what they are told.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    /// A bit for each plugin that is on.
    on: u16,
    /// How long Pods tolerate a node that is not ready, and one that cannot be reached.
    pub(crate) toleration_seconds: [i64; 2],
}

impl Default for Settings {
    fn default() -> Self {
        let mut settings = Settings {
            on: u16::MAX,
            toleration_seconds: [300; 2],
        };
        settings.set(AdmissionPlugin::ServiceAccount, false);
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
