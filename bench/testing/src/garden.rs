//! The operator that is measured: every `Garden` gets a `ConfigMap` with as many plants as it asks for.

use k8s_openapi::api::core::v1::ConfigMap;
use kube::CustomResource;
use kubewright_runtime::client::helpers::set_controller_reference;
use kubewright_runtime::controller::{Action, Controller, Failure, Request};
use kubewright_runtime::operator::{Operator, Rule};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(CustomResource, JsonSchema, Serialize, Deserialize, Clone, Debug)]
#[kube(group = "example.com", version = "v1", kind = "Garden", namespaced)]
pub(crate) struct GardenSpec {
    plants: u32,
}

pub(crate) const SAMPLE: &str =
    "{apiVersion: example.com/v1, kind: Garden, metadata: {name: roses}, spec: {plants: 2}}";

pub(crate) fn operator() -> Operator {
    let controller = Controller::of::<Garden>()
        .owns::<ConfigMap>()
        .reconcile_with(|context| {
            let client = context.client();
            move |request: Request| {
                let client = client.clone();
                async move {
                    let Some(garden) = client.get_opt::<Garden>(&request).await? else {
                        return Ok(Action::done());
                    };
                    let mut wanted = ConfigMap::default();
                    wanted.metadata.namespace.clone_from(&garden.metadata.namespace);
                    wanted.metadata.name.clone_from(&garden.metadata.name);
                    let plants = (0..garden.spec.plants).map(|number| (format!("plant-{number}"), "green".to_owned()));
                    wanted.data = Some(plants.collect());
                    set_controller_reference(&*garden, &mut wanted)?;
                    client.apply(&wanted).await?;
                    Ok::<_, Failure>(Action::done())
                }
            }
        });
    Operator::new("garden")
        .resource::<Garden>()
        .controller(controller)
        .rule(Rule::new([""], ["configmaps"], ["create", "patch"]))
}
