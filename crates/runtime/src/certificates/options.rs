//! What a managed certificate is for, how long it lasts and where it is kept.

use std::time::Duration;

use super::permission::Permission;
use super::target::Target;

const DAY: Duration = Duration::from_hours(24);

/// A certificate that the manager makes, keeps in a Secret and renews by itself.
///
/// ```
/// use kubewright_runtime::certificates::{ManagedOptions, Target};
///
/// let options = ManagedOptions::new("shop", "shop-webhook-service")
///     .target(Target::mutating("shop-mutating-webhook-configuration"))
///     .target(Target::conversion("orders.shop.example.com"));
/// assert_eq!(options.secret, "shop-webhook-service-cert");
/// assert_eq!(options.targets.len(), 2); // the CA is written into both
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ManagedOptions {
    /// The namespace of the Service and of the Secret.
    pub namespace: String,
    /// The Service through which the API server reaches the webhooks.
    pub service: String,
    /// The Secret that all replicas share. Default: the service's name and `-cert`.
    pub secret: String,
    /// What gets the caBundle.
    pub targets: Vec<Target>,
    /// The domain of the cluster. Default: `cluster.local`.
    pub cluster_domain: String,
    /// How long a serving certificate lasts; it is renewed after two thirds of that. Default: 90 days.
    pub lifetime: Duration,
    /// How long a CA lasts; it is renewed after two thirds of that, or when it could not cover another serving certificate.
    /// Default: 3 years.
    pub ca_lifetime: Duration,
    /// How long a new CA is trusted before a certificate of it is shown, and an old one after the last of its own was.
    /// Default: 1 day; never more than a tenth of `lifetime`.
    pub overlap: Duration,
    /// How often everything is checked even if no watch reports a change. Default: 10 minutes.
    pub resync: Duration,
}

impl ManagedOptions {
    /// For a Service.
    pub fn new(namespace: impl Into<String>, service: impl Into<String>) -> Self {
        let service = service.into();
        ManagedOptions {
            namespace: namespace.into(),
            secret: format!("{service}-cert"),
            service,
            targets: Vec::new(),
            cluster_domain: "cluster.local".to_owned(),
            lifetime: 90 * DAY,
            ca_lifetime: 3 * 365 * DAY,
            overlap: DAY,
            resync: Duration::from_mins(10),
        }
    }

    /// One more object that gets the caBundle.
    pub fn target(mut self, target: Target) -> Self {
        self.targets.push(target);
        self
    }

    /// The names the certificate is for. The first is the one the API server asks for.
    pub(crate) fn dns_names(&self) -> Vec<String> {
        let ManagedOptions {
            service,
            namespace,
            cluster_domain,
            ..
        } = self;
        vec![
            format!("{service}.{namespace}.svc"),
            format!("{service}.{namespace}.svc.{cluster_domain}"),
            format!("{service}.{namespace}"),
            service.clone(),
        ]
    }

    /// What the manager needs to be allowed for it.
    pub fn permissions(&self) -> Vec<Permission> {
        let mut permissions = vec![Permission::on_secret(&self.namespace, &self.secret)];
        let verbs = ["get", "list", "watch", "patch"];
        permissions.extend(Permission::on_targets(&self.targets, &verbs));
        permissions
    }
}
