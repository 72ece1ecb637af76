{{header}}//! The {{name}} operator.

use kubewright::prelude::*;

/// What the operator is: the kinds it brings, its controllers and its webhooks. `main` runs it, tests
/// start it and `kubewright manifests` renders it.
pub fn operator() -> Operator {
    Operator::new("{{name}}")
    // kubewright:scaffold:operator
}
