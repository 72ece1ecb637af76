//! What a failing test prints.

use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use kubewright_testing::TestEnv;
use kubewright_testing::matchers::{condition, like};
use serde_json::json;

use crate::garden::{Garden, SAMPLE, embedded, operator, without_status};

/// Times, uids and versions differ from run to run.
fn steady(text: &str) -> String {
    let mut lines = Vec::new();
    for line in text.lines() {
        let name = line.trim_start().trim_start_matches("- ");
        let changes = ["creationTimestamp:", "lastTransitionTime:", "uid:", "resourceVersion:"];
        match changes.iter().find(|start| name.starts_with(**start)) {
            Some(start) => {
                let (before, _) = line.split_once(start).unwrap_or_default();
                lines.push(format!("{before}{start} …"));
            }
            None => lines.push(line.to_owned()),
        }
    }
    lines.join("\n")
}

#[kubewright_testing::test(virtual_time)]
async fn a_wait_that_fails_says_what_was_expected_and_what_is() {
    let env = TestEnv::builder().operator(operator()).seed(1).embedded().start().await;
    env.apply(SAMPLE).await;
    env.settle().await;
    let waiting = env.eventually::<Garden>("roses", |garden| garden.spec.plants == 3);
    let text = waiting
        .outcome()
        .await
        .unwrap_err()
        .text()
        .replace(env.namespace(), "test");
    similar(
        &steady(&text),
        "\
not within 10s: Garden test/roses
  expected:
    |garden| garden.spec.plants == 3
  object:
    apiVersion: example.com/v1
    kind: Garden
    metadata:
      creationTimestamp: …
      generation: 1
      name: roses
      namespace: test
      resourceVersion: …
      uid: …
    spec:
      plants: 2
    status:
      conditions:
      - lastTransitionTime: …
        message: \"\"
        reason: Planted
        status: \"True\"
        type: Ready
  events:
    Normal Planted: planted 2
  owners:
    Garden roses, Ready=True <- this one
      ConfigMap roses
  manager:
    garden: 3 reconciles
      10.001s ago test/roses: success
        because Garden created
        apply ConfigMap test/roses: 201
        update Garden.example.com/status test/roses: 200
      10.001s ago test/roses: success
        because ConfigMap created
      10.001s ago test/roses: success
        because Garden updated",
    );
}

#[kubewright_testing::test(virtual_time)]
async fn a_matcher_says_what_is_different_and_the_manager_its_last_error() {
    let env = TestEnv::builder().operator(operator()).seed(1).embedded().start().await;
    env.apply(SAMPLE.replace("plants: 2", "plants: 101")).await;
    let waiting = env.eventually_matches::<Garden>("roses", condition("Ready", "True"));
    let text = waiting.within(Duration::from_millis(1)).outcome().await;
    let text = text.unwrap_err().text().replace(env.namespace(), "test");
    similar(
        &steady(&text),
        "\
not within 1ms: Garden test/roses
  expected:
    condition Ready = True
  but:
    condition Ready: there is none; there are no conditions
  object:
    apiVersion: example.com/v1
    kind: Garden
    metadata:
      creationTimestamp: …
      generation: 1
      name: roses
      namespace: test
      resourceVersion: …
      uid: …
    spec:
      plants: 101
  manager:
    garden: 1 reconciles, 1 failed
      0.001s ago test/roses: error: the beds are full
        because Garden created
    garden: test/roses failed 1 times, again in 4ms: the beds are full",
    );
    let waiting = env.eventually_matches::<Garden>("roses", like(json!({ "spec": { "plants": 5 } })));
    let text = waiting.within(Duration::from_millis(1)).outcome().await;
    let text = text.unwrap_err().text();
    assert!(
        text.contains("  but:\n    - spec.plants: 5\n    + spec.plants: 101\n"),
        "{text}"
    );
}

#[kubewright_testing::test]
async fn a_missing_rule_fails_the_test_at_once_and_names_the_attribute() {
    let env = embedded(without_status()).await;
    env.apply(SAMPLE).await;
    let waiting = env.eventually_matches::<Garden>("roses", condition("Ready", "True"));
    let text = waiting.outcome().await.unwrap_err().text();
    assert!(
        text.starts_with("the manager's role does not allow what it does\n"),
        "{text}"
    );
    let line = r#"#[rbac(groups = "example.com", resources = "gardens/status", verbs = "update")]"#;
    assert!(
        text.contains(&format!("  add to the reconciler:\n    {line}\n")),
        "{text}"
    );
    let refusals = env.take_refusals();
    assert_eq!(refusals[0].rbac, line);
}

#[test]
fn a_missing_rule_fails_a_test_that_does_not_look() {
    let ended = std::panic::catch_unwind(|| {
        kubewright_testing::TestRuntime::new().virtual_time().run(async {
            let env = TestEnv::builder().operator(without_status()).embedded().start().await;
            env.apply(SAMPLE).await;
            tokio::time::sleep(Duration::from_millis(1)).await;
            drop(env);
        });
    });
    let panic = ended.unwrap_err();
    let text = panic.downcast_ref::<String>().unwrap();
    assert!(
        text.contains("gardens/status") && text.contains("failures.rs"),
        "{text}"
    );
}

#[kubewright_testing::test(virtual_time)]
async fn what_does_not_go_away_and_what_does_not_last_is_shown() {
    let env = TestEnv::builder().operator(operator()).embedded().start().await;
    env.apply(SAMPLE).await;
    env.settle().await;
    let text = env
        .eventually_gone::<Garden>("roses")
        .outcome()
        .await
        .unwrap_err()
        .text();
    assert!(text.starts_with("not gone within 10s: Garden "), "{text}");

    let changing = async {
        tokio::time::sleep(Duration::from_secs(5)).await;
        env.edit::<Garden>("roses", |garden| garden.spec.plants = 3).await;
    };
    let lasting = env
        .consistently::<ConfigMap>("roses", |map| map.data.as_ref().is_some_and(|data| data.len() == 2))
        .lasting(Duration::from_mins(1))
        .outcome();
    let (outcome, ()) = tokio::join!(lasting, changing);
    let text = outcome.unwrap_err().text();
    assert!(text.starts_with("no longer so after 5"), "{text}");
    assert!(text.contains("data.len() == 2"), "{text}");
}

#[kubewright_testing::test]
#[should_panic(expected = "/none not found")]
async fn an_object_that_is_not_there_fails_the_test() {
    let env = TestEnv::builder().operator(operator()).start().await;
    let garden: Garden = env.get(format!("{}/none", env.namespace())).await;
    drop(garden);
}

#[track_caller]
fn similar(found: &str, wanted: &str) {
    assert!(found == wanted, "found:\n{found}\nwanted:\n{wanted}");
}
