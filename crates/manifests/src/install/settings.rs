//! Where and how an operator is to run.

/// Where and how an operator is to run.
#[derive(Clone, Debug, PartialEq, Eq)]
// Each is a switch of its own in PROJECT.
#[allow(clippy::struct_excessive_bools)]
pub struct Settings {
    /// Its namespace.
    pub namespace: String,
    /// What the names of its objects begin with. A manager that makes its own certificates finds its webhook configurations by the
    /// operator's name and a dash, so that then nothing else will do.
    pub prefix: String,
    /// The image of the manager.
    pub image: String,
    /// How many managers run, of which one leads; as many as the manager's file says, if `None`.
    pub replicas: Option<u32>,
    /// Certificates come from cert-manager; otherwise the manager makes its own.
    pub cert_manager: bool,
    /// Whether to write a `ServiceMonitor` for Prometheus.
    pub prometheus: bool,
    /// Whether to write alert rules beside it.
    pub alerts: bool,
    /// Network policies say who may reach the manager.
    pub network_policy: bool,
    /// The operator sees its own namespace only: a Role instead of a `ClusterRole`.
    pub namespaced: bool,
    /// Names of a kind's roles begin with its group.
    pub multigroup: bool,
    /// What every group ends in, and names of files leave out; may be empty.
    pub domain: String,
}

impl Settings {
    /// One manager of this image, in the namespace that belongs to the operator, with all switches off.
    pub fn new(operator: &str, image: impl Into<String>) -> Settings {
        Settings {
            namespace: format!("{operator}-system"),
            prefix: format!("{operator}-"),
            image: image.into(),
            replicas: None,
            cert_manager: false,
            prometheus: false,
            alerts: false,
            network_policy: false,
            namespaced: false,
            multigroup: false,
            domain: String::new(),
        }
    }
}
