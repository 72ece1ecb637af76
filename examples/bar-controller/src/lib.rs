// SPDX-License-Identifier: Apache-2.0

//! The bar-controller operator.

pub mod api;
pub mod controllers;
pub mod webhooks;

use kubewright::prelude::*;

/// What the operator is: the kinds it brings, its controllers and its webhooks. `main` runs it, tests
/// start it and `kubewright manifests` renders it.
pub fn operator() -> Operator {
    Operator::new("bar-controller")
        .resource::<api::v1alpha1::Bar>()
        .controller(controllers::bar::BarReconciler::controller())
        .webhook(webhooks::v1alpha1::bar::webhook())
    // kubewright:scaffold:operator
}
