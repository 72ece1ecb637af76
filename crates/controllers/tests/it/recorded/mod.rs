//! Replays what was recorded from a real kube-controller-manager: after each step the same objects, conditions and events.
//! `examples/record.rs` says how to record again.

#![allow(clippy::needless_pass_by_value, reason = "fixtures read better so")]

mod driver;
mod scenarios;

use std::path::Path;
use std::time::Duration;

use driver::{Driver, Recording};
use kubewright_apiserver::{ApiServer, Options};
use kubewright_controllers::{Controllers, SigningAuthority};
use kubewright_runtime::clock::Clock;
use kubewright_runtime::stop::Stopper;
use kubewright_system::certificates;
use scenarios::Scenario;
use serde_json::{Value, json};

/// Those that were recorded with: nobody schedules or runs Pods.
const CONTROLLERS: &str = "*,-scheduler,-kubelet";
/// Where Pods are on nodes that nobody has made, nobody may miss those nodes.
const WITHOUT_NODES: &str = "*,-scheduler,-kubelet,-podgc";

async fn replay(controllers: &str, scenario: &Scenario, recording: &Recording) -> Result<(), String> {
    let epoch = "2026-03-01T12:00:00Z".parse().unwrap();
    let server = ApiServer::new(Options::new().seed(1).epoch(epoch));
    let clock = Clock::starting_at(epoch);
    let (stopper, stop) = Stopper::new();
    let controllers = Controllers::parse(controllers).unwrap().seed(1).clock(clock);
    let made = certificates::authority("example-ca", None).unwrap();
    let authority = SigningAuthority::new(&made.certificate_pem(), &made.key_pem()).unwrap();
    let controllers = controllers.root_ca("certificates").signing_authority(authority);
    let running = tokio::spawn(controllers.run(server.client(), stop));
    let driver = Driver::new(server.client(), scenario.name, scenario.shows).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    for (number, step) in recording.steps.iter().enumerate() {
        let refused = driver.act(&step.act, clock.now()).await;
        let seconds = step.act.lasts(clock.now()).unwrap_or(1);
        tokio::time::sleep(Duration::from_secs(seconds)).await;
        let state = driver.look(refused).await;
        if let Some(difference) = difference("", &step.state, &state) {
            return Err(format!(
                "{} step {} ({:?})\n{difference}",
                recording.name,
                number + 1,
                step.act
            ));
        }
    }
    stopper.stop();
    running.await.unwrap().map_err(|error| error.to_string())
}

/// Where two values differ, in words.
fn difference(path: &str, recorded: &Value, ours: &Value) -> Option<String> {
    match (recorded, ours) {
        (Value::Object(left), Value::Object(right)) => {
            let keys: std::collections::BTreeSet<_> = left.keys().chain(right.keys()).collect();
            let null = Value::Null;
            let lines: Vec<_> = keys
                .into_iter()
                .filter_map(|key| {
                    let (left, right) = (left.get(key).unwrap_or(&null), right.get(key).unwrap_or(&null));
                    difference(&format!("{path}/{key}"), left, right)
                })
                .collect();
            (!lines.is_empty()).then(|| lines.join("\n"))
        }
        (Value::Array(left), Value::Array(right)) if left.len() == right.len() => {
            let lines: Vec<_> = (0..left.len())
                .filter_map(|place| difference(&format!("{path}/{place}"), &left[place], &right[place]))
                .collect();
            (!lines.is_empty()).then(|| lines.join("\n"))
        }
        (left, right) if left == right => None,
        (left, right) => Some(format!("{path}\n  recorded: {left}\n  ours:     {right}")),
    }
}

/// The recording of a scenario, if it is one of what the scenario says today.
fn recording_of(scenario: &Scenario) -> Result<Recording, String> {
    let name = scenario.name;
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/recorded/{name}.json"));
    let text = std::fs::read_to_string(path).map_err(|error| format!("{name} is not recorded: {error}"))?;
    let recording: Recording = serde_json::from_str(&text).map_err(|error| format!("{name}: {error}"))?;
    let done: Vec<Value> = recording.steps.iter().map(|step| json!(step.act)).collect();
    let wanted: Vec<Value> = scenario.acts.iter().map(|act| json!(act)).collect();
    if done == wanted {
        Ok(recording)
    } else {
        Err(format!("{name} has other steps than its recording: record it again"))
    }
}

/// Replays all scenarios about something.
async fn replay_all(area: &str) {
    let areas = scenarios::by_area();
    let found = areas.into_iter().find(|(name, _)| *name == area);
    let (_, scenarios) = found.expect("an area of that name");
    let controllers = if area == "nodes" { CONTROLLERS } else { WITHOUT_NODES };
    let mut failures = Vec::new();
    for scenario in scenarios {
        let result = match recording_of(&scenario) {
            Ok(recording) => replay(controllers, &scenario, &recording).await,
            Err(error) => Err(error),
        };
        failures.extend(result.err());
    }
    assert!(
        failures.is_empty(),
        "{} scenarios differ:\n{}",
        failures.len(),
        failures.join("\n\n")
    );
}

#[tokio::test(start_paused = true)]
async fn deployments_go_as_they_went_with_the_real_controllers() {
    replay_all("deployments").await;
}

#[tokio::test(start_paused = true)]
async fn replica_sets_go_as_they_went_with_the_real_controllers() {
    replay_all("replica sets").await;
}

#[tokio::test(start_paused = true)]
async fn owners_and_dependents_go_as_they_went_with_the_real_controllers() {
    replay_all("collection").await;
}

#[tokio::test(start_paused = true)]
async fn jobs_go_as_they_went_with_the_real_controllers() {
    replay_all("jobs").await;
}

#[tokio::test(start_paused = true)]
async fn cron_jobs_go_as_they_went_with_the_real_controllers() {
    replay_all("cron jobs").await;
}

#[tokio::test(start_paused = true)]
async fn services_go_as_they_went_with_the_real_controllers() {
    replay_all("services").await;
}

#[tokio::test(start_paused = true)]
async fn namespaces_go_as_they_went_with_the_real_controllers() {
    replay_all("namespaces").await;
}

#[tokio::test(start_paused = true)]
async fn nodes_go_as_they_went_with_the_real_controllers() {
    replay_all("nodes").await;
}

#[tokio::test(start_paused = true)]
async fn policies_go_as_they_went_with_the_real_controllers() {
    replay_all("policies").await;
}

#[tokio::test(start_paused = true)]
async fn certificates_go_as_they_went_with_the_real_controllers() {
    replay_all("certificates").await;
}

#[tokio::test(start_paused = true)]
async fn volumes_go_as_they_went_with_the_real_controllers() {
    replay_all("volumes").await;
}

#[tokio::test(start_paused = true)]
async fn quotas_go_as_they_went_with_the_real_controllers() {
    replay_all("quotas").await;
}

#[test]
fn every_recording_belongs_to_a_scenario() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recorded");
    let all = scenarios::all();
    for entry in std::fs::read_dir(folder).expect("the folder of the recordings") {
        let path = entry.expect("a file").path();
        let stem = path.file_stem().and_then(|stem| stem.to_str());
        let is_recording = path.extension().is_some_and(|extension| extension == "json");
        let is_known = all.iter().any(|scenario| Some(scenario.name) == stem);
        assert!(!is_recording || is_known, "{}", path.display());
    }
}

#[test]
fn the_readme_lists_every_scenario() {
    let text = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/README.md"));
    let all = scenarios::all();
    assert!(text.contains(&format!("The {} scenarios:", all.len())));
    for scenario in all {
        assert!(text.contains(&format!("`{}`", scenario.name)), "{}", scenario.name);
    }
}
