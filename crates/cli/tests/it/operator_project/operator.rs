//! The operator of the project as Rust: what its description is made from, and what the program in `program.rs` runs.

use k8s_openapi::api::core::v1::ConfigMap;
use kubewright_runtime::controller::{Action, Controller, Request};
use kubewright_runtime::operator::Operator;
use kubewright_runtime::webhook::{AdmissionRequest, Webhook};

/// An operator that labels `ConfigMap`s in its webhook.
pub(crate) fn operator() -> Operator {
    let controller = Controller::of::<ConfigMap>().reconcile_with(|_| |_: Request| async { Ok(Action::done()) });
    let webhook = Webhook::of::<ConfigMap>().defaulter(|config: &mut ConfigMap, _: &AdmissionRequest| {
        let labels = config.metadata.labels.get_or_insert_default();
        labels.insert("shop.example.com/defaulted".to_owned(), "true".to_owned());
        Ok(())
    });
    Operator::new("shop").controller(controller).webhook(webhook)
}
