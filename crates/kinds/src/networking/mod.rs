//! The kinds of `networking.k8s.io`.

pub(crate) mod endpoint_address;
mod ingress;
mod ingress_class;
mod network_policy;
mod service_cidr;

pub(crate) use ingress::Ingress;
pub(crate) use ingress_class::IngressClass;
pub(crate) use network_policy::NetworkPolicy;
pub(crate) use service_cidr::{IpAddress, ServiceCidr};
