//! The README's operator and its test, to the letter, so that they are compiled and run.
#![allow(unreachable_pub, reason = "as users write it")]

use kubewright::testing::TestEnv;

// README: An operator
use std::collections::BTreeMap;

use kubewright::k8s_openapi::api::core::v1::ConfigMap;
use kubewright::prelude::*;

#[kubewright::resource(group = "example.com", version = "v1", kind = "Garden", namespaced)]
pub struct GardenSpec {
    #[schema(min_items = 1)]
    pub plants: Vec<String>,
}

struct Gardens {
    client: Client,
}

#[rbac(groups = "", resources = "configmaps", verbs = "create, update")]
impl Reconciler for Gardens {
    async fn reconcile(&self, request: Request) -> Result<Action> {
        let Some(garden) = self.client.get_opt::<Garden>(&request).await? else {
            return Ok(Action::done());
        };
        let mut labels = ConfigMap::default();
        labels.metadata.name = Some(format!("{}-labels", garden.name_any()));
        labels.metadata.namespace = garden.namespace();
        self.client
            .create_or_update(labels, |labels| {
                let data = labels.data.insert(BTreeMap::new());
                for plant in &garden.spec.plants {
                    data.insert(plant.clone(), "water me".into());
                }
                Ok(set_controller_reference(&*garden, labels)?)
            })
            .await?;
        Ok(Action::done())
    }
}

pub fn operator() -> Operator {
    let gardens = Controller::of::<Garden>().owns::<ConfigMap>();
    Operator::new("gardens")
        .resource::<Garden>()
        .controller(gardens.reconcile_with(|context| Gardens {
            client: context.client(),
        }))
}

// README: Its test
#[kubewright::test]
async fn a_garden_has_labels() {
    let env = TestEnv::start(operator()).await; // a cluster, and the operator under its own role
    let garden = "{apiVersion: example.com/v1, kind: Garden, metadata: {name: roses}, spec: {plants: [rose]}}";
    env.apply(garden).await;
    let is_filled = |labels: &ConfigMap| labels.data.is_some();
    env.eventually("roses-labels", is_filled).await;
}

// Every Rust block of the README is above.
#[test]
fn the_readme_shows_this_very_code() {
    let here = include_str!("readme.rs");
    let readme = include_str!("../../../README.md");
    let blocks: Vec<&str> = readme
        .split("```rust\n")
        .skip(1)
        .filter_map(|rest| Some(rest.split_once("```")?.0))
        .collect();
    assert_eq!(blocks.len(), 2);
    for block in blocks {
        assert!(
            here.contains(block),
            "book/tests/it/readme.rs does not have this block:\n{block}"
        );
    }
}
