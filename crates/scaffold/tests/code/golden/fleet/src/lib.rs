// Copyright The Ginoh Authors
// SPDX-License-Identifier: Apache-2.0

//! The fleet operator.

pub mod api;
pub mod controllers;
pub mod webhooks;

use kubewright::prelude::*;

/// What the operator is: the kinds it brings, its controllers and its webhooks. `main` runs it, tests
/// start it and `kubewright manifests` renders it.
pub fn operator() -> Operator {
    Operator::new("fleet")
        .resource::<api::ship::v1::Frigate>()
        .controller(controllers::ship::frigate::FrigateReconciler::controller())
        .resource::<api::ship::v1beta1::Frigate>()
        .resource::<api::ship::v2::Frigate>()
        .conversion(webhooks::ship::v1::frigate::conversion())
        .webhook(webhooks::ship::v1::frigate::webhook())
        .webhook(webhooks::ship::v2::frigate::webhook())
        .resource::<api::sea_creatures::v1alpha1::Kraken>()
        .controller(controllers::sea_creatures::kraken::KrakenReconciler::controller())
        .resource::<api::ship::v1::Harbour>()
        .controller(controllers::apps::deployment::DeploymentReconciler::controller())
        .webhook(webhooks::core::v1::pod::webhook())
    // kubewright:scaffold:operator
}
