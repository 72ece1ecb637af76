//! Explorations that need more than a cluster: samples in files, systems outside, files about the outcome.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use k8s_openapi::api::core::v1::ConfigMap;
use kubewright_runtime::controller::{Action, Controller, Failure, Request};
use kubewright_runtime::operator::{Operator, Rule};
use kubewright_testing::Controllers;
use kubewright_testing::explore::{Class, Exploration, External, explore, explore_with};
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::garden;

/// A registry of names outside the cluster: who has which.
#[derive(Debug, Default)]
struct Registry(Mutex<BTreeMap<String, String>>);

impl Registry {
    /// Registers a further name for an owner.
    fn register_another(&self, owner: &str) -> String {
        let mut names = self.0.lock();
        let name = format!("name-{}", names.len() + 1);
        names.insert(name.clone(), owner.to_owned());
        name
    }

    fn name_of(&self, owner: &str) -> Option<String> {
        let names = self.0.lock();
        names
            .iter()
            .find(|(_, own)| *own == owner)
            .map(|(name, _)| name.clone())
    }

    fn release(&self, owner: &str) {
        self.0.lock().retain(|_, own| own != owner);
    }
}

impl External for Registry {
    fn snapshot(&self) -> Value {
        json!(*self.0.lock())
    }

    fn restore(&self, snapshot: &Value) {
        *self.0.lock() = serde_json::from_value(snapshot.clone()).unwrap();
    }
}

/// Whether the registry is asked before a name is registered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Care {
    Asks,
    Forgets,
}

/// Every `ConfigMap` named `site` gets a name from the registry, and notes it.
fn operator(registry: &Arc<Registry>, care: Care) -> Operator {
    let registry = Arc::clone(registry);
    let controller = Controller::of::<ConfigMap>().reconcile_with(move |context| {
        let (client, registry) = (context.client(), Arc::clone(&registry));
        move |request: Request| {
            let (client, registry) = (client.clone(), Arc::clone(&registry));
            async move {
                if request.name() != "site" {
                    return Ok(Action::done());
                }
                let Some(site) = client.get_opt::<ConfigMap>(&request).await? else {
                    registry.release("site");
                    return Ok(Action::done());
                };
                if site.data.as_ref().is_some_and(|data| data.contains_key("name")) {
                    return Ok(Action::done());
                }
                let known = registry.name_of("site").filter(|_| care == Care::Asks);
                let name = known.unwrap_or_else(|| registry.register_another("site"));
                let mut changed = site.into_owned();
                changed.data.get_or_insert_default().insert("name".to_owned(), name);
                client.update(&changed).await?;
                Ok::<_, Failure>(Action::done())
            }
        }
    });
    Operator::new("names")
        .controller(controller)
        .rule(Rule::new([""], ["configmaps"], ["update"]))
}

fn sites(care: Care) -> Exploration {
    explore_with(Registry::default, move |registry| operator(&registry, care))
        .environment(|builder| builder.controllers(Controllers::none()))
        .step("open", |env| async move {
            env.apply("{apiVersion: v1, kind: ConfigMap, metadata: {name: site}}")
                .await;
        })
        .step("look", |env| async move {
            // A run that begins here finds the registry as the step before has left it.
            assert!(env.external::<Registry>().name_of("site").is_some());
        })
        .step("close", |env| async move { env.delete::<ConfigMap>("site").await })
        .classes([Class::Restart, Class::Crash])
}

#[kubewright_testing::test]
async fn what_is_left_in_a_system_outside_the_cluster_is_found() {
    let report = sites(Care::Forgets).classes([Class::Crash]).try_run().await;
    let report = report.unwrap_err().text();
    assert!(report.contains("different external/system"), "{report}");
    assert!(report.contains("name-2: \"site\" and not nothing"), "{report}");
    assert!(
        report.contains("crash before update configmaps/site #1 in step open"),
        "{report}"
    );
}

#[kubewright_testing::test]
async fn an_operator_that_asks_the_system_outside_passes() {
    let deletion = "it has no finalizer: what is deleted while it is down keeps its name";
    let exploration = sites(Care::Asks).accept("different external/system", deletion);
    let summary = exploration.run().await;
    // Before and after the one write; and a replica takes over after it, which knows of it or does not.
    assert_eq!(summary.runs_of(Class::Crash), 4, "{summary}");
    // A restart before each step, and each step while the operator is down.
    assert_eq!(summary.runs_of(Class::Restart), 6, "{summary}");
    assert!(summary.to_string().contains(deletion), "{summary}");
    let plan = "operator down in step close of open, close";
    let report = sites(Care::Asks).try_run().await.unwrap_err().text();
    assert!(report.contains(&format!(".replay({plan:?})")), "{report}");
}

#[kubewright_testing::test]
async fn samples_in_files_are_steps() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("garden.yaml"), garden::SAMPLE).unwrap();
    std::fs::write(folder.path().join("kustomization.yaml"), "resources: [garden.yaml]\n").unwrap();
    let summary = explore(garden::operator)
        .samples(folder.path())
        .classes([Class::Restart])
        .run()
        .await;
    // Before the creation and before the deletion, and both while the operator is down.
    assert_eq!(summary.runs(), 4, "{summary}");
}

#[kubewright_testing::test]
async fn a_folder_without_samples_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let error = explore(garden::operator).samples(folder.path()).try_run().await;
    let error = error.unwrap_err().text();
    assert!(error.contains("has no sample to explore"), "{error}");
}

#[kubewright_testing::test]
async fn a_page_and_data_tell_what_was_tried_and_what_was_not() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("garden.yaml"), garden::SAMPLE).unwrap();
    let exploration = explore(garden::operator)
        .samples(folder.path())
        .classes([Class::Restart]);
    exploration.run().await;
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    let written = target.join("explore");
    let name = "it-explore_outside-a_page_and_data_tell_what_was_tried_and_what_was_not";
    let data = std::fs::read(written.join(format!("{name}.json"))).unwrap();
    let data: Value = serde_json::from_slice(&data).unwrap();
    assert_eq!(data["runs"], 4, "{data:#}");
    let tried = data["tried"].as_array().unwrap();
    let outcome = |plan: &str| {
        let found = tried.iter().find(|tried| tried["plan"] == plan);
        found.map(|tried| tried["outcome"].clone()).unwrap_or_default()
    };
    assert_eq!(outcome("restart before step create garden"), "passed", "{data:#}");
    let crash = "crash after patch configmaps/roses #1 in step create garden";
    assert_eq!(outcome(crash), "not asked for", "{data:#}");
    let page = std::fs::read_to_string(written.join(format!("{name}.html"))).unwrap();
    assert!(page.contains("patch configmaps/roses #1"), "{page}");
}
