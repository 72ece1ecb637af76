//! The kinds of the core group that are neither pods nor services.

mod config_map;
mod endpoints;
mod limit_range;
mod namespace;
mod node;
pub(crate) mod pem;
pub(crate) mod persistent_volume;
mod persistent_volume_claim;
mod pod_template;
mod resource_quota;
mod secret;
mod service_account;

pub(crate) use config_map::ConfigMap;
pub(crate) use endpoints::Endpoints;
pub(crate) use limit_range::LimitRange;
pub(crate) use namespace::Namespace;
pub(crate) use node::Node;
pub(crate) use persistent_volume::PersistentVolume;
pub(crate) use persistent_volume_claim::PersistentVolumeClaim;
pub(crate) use pod_template::PodTemplate;
pub(crate) use resource_quota::ResourceQuota;
pub(crate) use secret::Secret;
pub(crate) use service_account::ServiceAccount;
