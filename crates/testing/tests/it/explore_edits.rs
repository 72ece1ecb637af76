//! Edits from the schema: after the last one, the cluster must be as if the object had been created so.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::{CustomResource, ResourceExt as _};
use kubewright_runtime::cache::Query;
use kubewright_runtime::client::Client;
use kubewright_runtime::client::helpers::{is_controlled_by, set_controller_reference};
use kubewright_runtime::controller::{Action, Controller, Failure, Request};
use kubewright_runtime::object::ObjectKey;
use kubewright_runtime::operator::{Operator, Rule};
use kubewright_testing::explore::{Class, Exploration, explore};
use kubewright_testing::{ControllerName, Controllers};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::garden::{self, Garden, SAMPLE};

/// A `ConfigMap` for each room.
#[derive(CustomResource, JsonSchema, Serialize, Deserialize, Clone, Debug, Default)]
#[kube(group = "example.com", version = "v1", kind = "House", namespaced)]
struct HouseSpec {
    rooms: Vec<String>,
    /// Not below 1 and not above 3.
    #[schemars(range(min = 1, max = 3))]
    floors: i32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    colour: Option<String>,
}

const HOUSE: &str = "{apiVersion: example.com/v1, kind: House, metadata: {name: old}, \
                     spec: {rooms: [attic, cellar], floors: 2, colour: red}}";

/// Which mistake the builder makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mistake {
    None,
    /// Rooms that are no longer wanted stay.
    NeverTearsDown,
    /// A colour that was given once stays.
    KeepsTheColour,
}

async fn build(client: &Client, house: &House, mistake: Mistake) -> Result<(), Failure> {
    let namespace = house.namespace().unwrap_or_default();
    for room in &house.spec.rooms {
        let key = ObjectKey::namespaced(&namespace, room);
        let found = client.get_opt::<ConfigMap>(&key).await?;
        let mut wanted = found
            .as_ref()
            .map_or_else(ConfigMap::default, |found| (**found).clone());
        wanted.metadata.namespace = Some(namespace.clone());
        wanted.metadata.name = Some(room.clone());
        let mut data = BTreeMap::from([("floors".to_owned(), house.spec.floors.to_string())]);
        let before = wanted.data.take().and_then(|mut data| data.remove("colour"));
        let kept = before.filter(|_| mistake == Mistake::KeepsTheColour);
        if let Some(colour) = house.spec.colour.clone().or(kept) {
            data.insert("colour".to_owned(), colour);
        }
        wanted.data = Some(data);
        match found {
            Some(found) if found.data == wanted.data => {}
            Some(_) => drop(client.update(&wanted).await?),
            None => {
                set_controller_reference(house, &mut wanted)?;
                client.create(&wanted).await?;
            }
        }
    }
    if mistake == Mistake::NeverTearsDown {
        return Ok(());
    }
    for map in client.list::<ConfigMap>(&Query::all().in_namespace(&namespace)).await? {
        if is_controlled_by(&*map, house) && !house.spec.rooms.contains(&map.name_any()) {
            client
                .delete::<ConfigMap>(&ObjectKey::namespaced(&namespace, &map.name_any()))
                .await?;
        }
    }
    Ok(())
}

fn operator(mistake: Mistake) -> Operator {
    let controller = Controller::of::<House>()
        .owns::<ConfigMap>()
        .reconcile_with(move |context| {
            let client = context.client();
            move |request: Request| {
                let client = client.clone();
                async move {
                    if let Some(house) = client.get_opt::<House>(&request).await? {
                        build(&client, &house, mistake).await?;
                    }
                    Ok::<_, Failure>(Action::done())
                }
            }
        });
    Operator::new("houses")
        .resource::<House>()
        .controller(controller)
        .rule(Rule::new([""], ["configmaps"], ["create", "update", "delete"]))
        .rule(Rule::new(["example.com"], ["houses/finalizers"], ["update"]))
}

fn houses(mistake: Mistake) -> Exploration {
    explore(move || operator(mistake))
        .environment(|builder| builder.controllers(Controllers::only([ControllerName::GarbageCollector])))
        .step("build", |env| async move {
            env.apply(HOUSE).await;
        })
        .step("leave", |env| async move { env.delete::<House>("old").await })
        .classes([Class::Edits])
}

async fn report(mistake: Mistake) -> String {
    houses(mistake).try_run().await.unwrap_err().text()
}

#[kubewright_testing::test]
async fn an_operator_that_follows_its_spec_passes_and_what_is_refused_changes_nothing() {
    let summary = houses(Mistake::None).run().await;
    // Each of more than a dozen changes by itself and back, and some one after another.
    assert!(summary.runs_of(Class::Edits) > 30, "{summary}");
    let refused = "change houses.example.com/old: /spec/floors = 4 after step build";
    let summary = houses(Mistake::None).replay(refused).run().await;
    assert_eq!(summary.runs_of(Class::Edits), 1, "{summary}");
}

#[kubewright_testing::test]
async fn what_is_no_longer_wanted_and_stays_is_found() {
    let report = report(Mistake::NeverTearsDown).await;
    assert!(report.contains("unexpected configmaps/cellar"), "{report}");
    assert!(report.contains("change houses.example.com/old: "), "{report}");
    // The steps after it are not needed.
    assert!(report.contains(" after step build of build\")"), "{report}");
}

#[kubewright_testing::test]
async fn what_was_given_once_and_stays_is_found_and_can_be_repeated() {
    let text = report(Mistake::KeepsTheColour).await;
    assert!(text.contains("different configmaps/attic"), "{text}");
    assert!(text.contains("data.colour: \"red\" and not nothing"), "{text}");
    let plan = "change houses.example.com/old: remove /spec/colour after step build of build";
    assert!(text.contains(plan), "{text}");
    let again = houses(Mistake::KeepsTheColour).replay(plan).try_run().await;
    let again = again.unwrap_err().text();
    assert!(again.contains("different configmaps/attic"), "{again}");
    assert!(again.contains(&format!("⚡ {plan}")), "{again}");
}

#[kubewright_testing::test]
async fn an_operator_with_a_webhook_is_edited_through_it() {
    let gardens = explore(garden::operator)
        .step("plant", |env| async move {
            env.apply(SAMPLE).await;
        })
        .step("dig up", |env| async move { env.delete::<Garden>("roses").await });
    let summary = gardens.classes([Class::Edits]).run().await;
    assert!(summary.runs_of(Class::Edits) > 10, "{summary}");
}
