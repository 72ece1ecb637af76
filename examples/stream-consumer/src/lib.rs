// SPDX-License-Identifier: Apache-2.0

//! The stream-consumer operator.

pub mod api;
pub mod broker;
pub mod controllers;
pub mod webhooks;

use std::sync::Arc;

use broker::{Broker, HttpBroker};
use kubewright::prelude::*;

/// What the operator is: the kinds it brings, its controllers and its webhooks. `main` runs it, tests
/// start it and `kubewright manifests` renders it.
pub fn operator() -> Operator {
    operator_with(Arc::new(HttpBroker::from_environment()))
}

/// The same with another broker.
pub fn operator_with(broker: Arc<dyn Broker>) -> Operator {
    Operator::new("stream-consumer")
        .resource::<api::v1::Consumer>()
        .controller(controllers::consumer::ConsumerReconciler::controller(broker))
        .resource::<api::v1beta1::Consumer>()
        .resource::<api::v1alpha1::Consumer>()
        .conversion(webhooks::v1::consumer::conversion())
    // kubewright:scaffold:operator
}
