//! Explorations of operators that leave something to chance: that is told as such, with the place where two runs parted.

use std::collections::HashMap;

use k8s_openapi::api::core::v1::ConfigMap;
use kubewright_runtime::client::{Client, Patch};
use kubewright_runtime::controller::{Action, Controller, Failure, Request};
use kubewright_runtime::object::{ObjectKey, View};
use kubewright_runtime::operator::{Operator, Rule};
use kubewright_testing::Controllers;
use kubewright_testing::explore::{Class, Exploration, explore};
use serde_json::json;

/// The first three of a thousand keys, in an order that is another one in each map.
fn some_keys() -> String {
    let map: HashMap<u32, u32> = (0..1000).map(|key| (key, key)).collect();
    let first: Vec<String> = map.keys().take(3).map(u32::to_string).collect();
    first.join(" ")
}

fn made_of(door: &ConfigMap, text: String) -> ConfigMap {
    let mut made = ConfigMap::default();
    made.metadata.namespace.clone_from(&door.metadata.namespace);
    made.metadata.name = Some("made".to_owned());
    made.data = Some([("text".to_owned(), text)].into());
    made
}

/// For the `ConfigMap` named `door`, that is noted as done in it.
fn operator<F, Fut>(make: F) -> Operator
where
    F: Fn(Client, ConfigMap) -> Fut + Clone + Send + Sync + 'static,
    Fut: Future<Output = Result<(), Failure>> + Send,
{
    let controller = Controller::of::<ConfigMap>().reconcile_with(move |context| {
        let (client, make) = (context.client(), make.clone());
        move |request: Request| {
            let (client, make) = (client.clone(), make.clone());
            async move {
                let door = client.get_opt::<ConfigMap>(&request).await?;
                let is_open = |door: &ConfigMap| door.metadata.name.as_deref() == Some("door") && door.data.is_none();
                if let Some(mut door) = door.map(View::into_owned).filter(is_open) {
                    make(client.clone(), door.clone()).await?;
                    door.data = Some([("done".to_owned(), "yes".to_owned())].into());
                    client.update(&door).await?;
                }
                Ok::<_, Failure>(Action::done())
            }
        }
    });
    Operator::new("chance")
        .controller(controller)
        .rule(Rule::new([""], ["configmaps"], ["create", "update", "patch"]))
}

fn doors(operator: fn() -> Operator) -> Exploration {
    explore(operator)
        .environment(|builder| builder.controllers(Controllers::none()))
        .step("open", |env| async move {
            env.apply("{apiVersion: v1, kind: ConfigMap, metadata: {name: door}}")
                .await;
        })
        .classes([Class::Crash])
}

fn always_by_chance() -> Operator {
    operator(|client, door| async move {
        client.create(&made_of(&door, some_keys())).await?;
        Ok(())
    })
}

/// Only what was there before a crash is overwritten with something that chance decides.
fn by_chance_after_a_crash() -> Operator {
    operator(|client, door| async move {
        match client.create(&made_of(&door, "first".to_owned())).await {
            Err(error) if error.is_already_exists() => {
                let key = ObjectKey::namespaced(&door.metadata.namespace.unwrap_or_default(), "made");
                let patch = Patch::Merge(json!({ "data": { "text": some_keys() } }));
                client.patch::<ConfigMap>(&key, &patch).await?;
            }
            made => drop(made?),
        }
        Ok(())
    })
}

#[kubewright_testing::test]
async fn the_order_of_a_hash_map_is_told_with_the_place_where_two_runs_parted() {
    let error = doors(always_by_chance).try_run().await.unwrap_err().text();
    assert!(
        error.contains("two runs with seed 0 differ without any disturbance: the order of a hash map"),
        "{error}"
    );
    assert!(error.contains("write 1: create configmaps/made #1"), "{error}");
    assert_eq!(error.matches("\"text\":").count(), 2, "{error}");
}

#[kubewright_testing::test]
async fn chance_after_a_disturbance_is_told_as_chance() {
    let report = doors(by_chance_after_a_crash).try_run().await.unwrap_err().text();
    assert!(report.contains("different configmaps/made"), "{report}");
    assert!(
        report.contains("two runs of this plan differ: the order of a hash map"),
        "{report}"
    );
    assert!(report.contains("patch configmaps/made #1"), "{report}");
}
