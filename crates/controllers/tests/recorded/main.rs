//! Replays what was recorded from a real kube-controller-manager: after each step the same objects, conditions and events.
//! `examples/record.rs` says how to record again.

#![allow(clippy::needless_pass_by_value, reason = "fixtures read better so")]

mod driver;
mod scenarios;

use std::path::Path;
use std::time::Duration;

use driver::{Act, Driver, Recording};
use kubewright_apiserver::{ApiServer, Options};
use kubewright_controllers::Controllers;
use kubewright_runtime::clock::Clock;
use kubewright_runtime::stop::Stopper;
use serde_json::Value;

/// Those that were recorded with: nobody schedules or runs Pods.
const CONTROLLERS: &str = "deployment,replicaset,job,gc";

async fn replay(recording: &Recording) -> Result<(), String> {
    let epoch = "2026-03-01T12:00:00Z".parse().unwrap();
    let server = ApiServer::new(Options::new().seed(1).epoch(epoch));
    let clock = Clock::starting_at(epoch);
    let (stopper, stop) = Stopper::new();
    let controllers = Controllers::parse(CONTROLLERS).unwrap().seed(1).clock(clock);
    let running = tokio::spawn(controllers.run(server.client(), stop));
    let driver = Driver::new(server.client(), &recording.name).await;
    for (number, step) in recording.steps.iter().enumerate() {
        driver.act(&step.act, clock.now()).await;
        let seconds = if let Act::Wait(seconds) = step.act { seconds } else { 1 };
        tokio::time::sleep(Duration::from_secs(seconds)).await;
        let state = driver.look().await;
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

#[tokio::test(start_paused = true)]
async fn everything_goes_as_it_went_with_the_real_controllers() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recorded");
    let mut failures = Vec::new();
    for (name, _) in scenarios::all() {
        let text = std::fs::read_to_string(folder.join(format!("{name}.json"))).expect("a recording of each scenario");
        let recording: Recording = serde_json::from_str(&text).expect("a recording");
        if let Err(failure) = replay(&recording).await {
            failures.push(failure);
        }
    }
    assert!(
        failures.is_empty(),
        "{} scenarios differ:\n{}",
        failures.len(),
        failures.join("\n\n")
    );
}
