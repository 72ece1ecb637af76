//! What a cluster needs to run an operator: its namespace, its rights, its services, its webhooks and the manager itself.
//! Names and layout are kubebuilder's: `<operator>-controller-manager` in `<operator>-system`.

mod access;
mod manager;
mod network;

use kubewright_runtime::operator::Description;
use serde_json::{Value, json};

/// Where and how an operator is to run.
///
/// ```
/// use kubewright_manifests::install::Settings;
///
/// assert_eq!(Settings::new("shop", "shop:1.0").namespace, "shop-system");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Its namespace.
    pub namespace: String,
    /// The image of the manager.
    pub image: String,
    /// How many managers run; one of them leads.
    pub replicas: u32,
}

impl Settings {
    /// One manager of this image, in the namespace that belongs to the operator.
    pub fn new(operator: &str, image: impl Into<String>) -> Settings {
        Settings {
            namespace: format!("{operator}-system"),
            image: image.into(),
            replicas: 1,
        }
    }
}

/// The objects of an installation, in the order in which a cluster takes them. Definitions of kinds are not among them.
///
/// ```
/// use kubewright_manifests::install::{Settings, objects};
/// use kubewright_runtime::operator::Operator;
///
/// let objects = objects(&Operator::new("shop").describe(), &Settings::new("shop", "shop:1.0"));
/// let kinds: Vec<&str> = objects.iter().filter_map(|object| object["kind"].as_str()).collect();
/// assert_eq!(kinds.first(), Some(&"Namespace"));
/// assert_eq!(kinds.last(), Some(&"Deployment"));
/// ```
pub fn objects(operator: &Description, settings: &Settings) -> Vec<Value> {
    let place = Place { operator, settings };
    let mut objects = vec![place.namespace()];
    objects.extend(access::objects(&place));
    objects.extend(network::services(&place));
    objects.extend(network::webhooks(&place));
    objects.push(manager::deployment(&place));
    objects
}

/// An operator and where it goes.
struct Place<'a> {
    operator: &'a Description,
    settings: &'a Settings,
}

impl Place<'_> {
    /// `shop-manager-role`
    fn name(&self, part: &str) -> String {
        format!("{}-{part}", self.operator.name)
    }

    fn labels(&self) -> Value {
        json!({
            "app.kubernetes.io/managed-by": "kubewright",
            "app.kubernetes.io/name": self.operator.name,
        })
    }

    /// What tells the manager's Pods from all others.
    fn selector(&self) -> Value {
        json!({
            "app.kubernetes.io/name": self.operator.name,
            "control-plane": "controller-manager",
        })
    }

    /// An object of the whole cluster.
    fn object(&self, api_version: &str, kind: &str, name: &str) -> Value {
        json!({
            "apiVersion": api_version,
            "kind": kind,
            "metadata": { "name": name, "labels": self.labels() },
        })
    }

    /// An object of the operator's namespace.
    fn namespaced(&self, api_version: &str, kind: &str, name: &str) -> Value {
        let mut object = self.object(api_version, kind, name);
        object["metadata"]["namespace"] = self.settings.namespace.as_str().into();
        object
    }

    fn namespace(&self) -> Value {
        let mut namespace = self.object("v1", "Namespace", &self.settings.namespace);
        // The manager asks for nothing that the strictest level forbids.
        namespace["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] = "restricted".into();
        namespace
    }

    fn has_webhooks(&self) -> bool {
        !self.operator.webhooks.is_empty() || !self.operator.conversions.is_empty()
    }
}
