//! The cache operator.

pub mod api;
pub mod controllers;

use kubewright::prelude::*;

/// What the operator is: the kinds it brings, its controllers and its webhooks. `main` runs it, tests
/// start it and `kubewright manifests` renders it.
pub fn operator() -> Operator {
    Operator::new("cache")
        .resource::<api::v1alpha1::Memcached>()
        .controller(controllers::memcached::MemcachedReconciler::controller())
        .resource::<api::v1alpha1::Busybox>()
        .controller(controllers::busybox::BusyboxReconciler::controller())
    // kubewright:scaffold:operator
}
