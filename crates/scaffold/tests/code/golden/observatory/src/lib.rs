//! The observatory operator.

pub mod api;
pub mod controllers;
pub mod rows;

use kubewright::prelude::*;

/// What the operator is: the kinds it brings, its controllers and its webhooks. `main` runs it, tests
/// start it and `kubewright manifests` renders it.
pub fn operator() -> Operator {
    Operator::new("observatory")
        .extension(rows::moon::extension())
        .extension(rows::sighting::extension())
        .resource::<api::v1alpha1::Telescope>()
        .controller(controllers::telescope::TelescopeReconciler::controller())
    // kubewright:scaffold:operator
}
