//! A whole operator in one file: copies every `ConfigMap` labelled `copy=yes` into a Secret of the same name.
//! Run it against the cluster of your kubeconfig: `cargo run --example copier -- --help`.

use std::process::ExitCode;

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kubewright_runtime::client::helpers::set_controller_reference;
use kubewright_runtime::controller::{Action, Controller, Failure};
use kubewright_runtime::informer::InformerOptions;
use kubewright_runtime::object::Selector;
use kubewright_runtime::operator::{Operator, Rule};

fn operator() -> Operator {
    let controller = Controller::of::<ConfigMap>()
        .named("copier")
        .owns::<Secret>()
        .reconcile_objects::<ConfigMap, _>(|context, source| async move {
            let mut copy = Secret::default();
            copy.metadata.name.clone_from(&source.metadata.name);
            copy.metadata.namespace.clone_from(&source.metadata.namespace);
            copy.string_data.clone_from(&source.data);
            set_controller_reference(&*source, &mut copy).map_err(Failure::terminal)?;
            context.client().apply(&copy).await?;
            Ok(Action::done())
        });
    Operator::new("copier")
        .controller(controller)
        .cached::<ConfigMap>(InformerOptions {
            labels: Selector::everything().equals("copy", "yes"),
            ..InformerOptions::default()
        })
        .rule(Rule::new([""], ["secrets"], ["create", "patch"]))
}

fn main() -> ExitCode {
    operator().main()
}
