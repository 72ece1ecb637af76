//! Faults between the manager and the server.

use k8s_openapi::api::core::v1::ConfigMap;
use kubewright_testing::Fault;
use kubewright_testing::matchers::condition;
use std::time::Duration;

use crate::garden::{Garden, SAMPLE, embedded, operator};

fn plants(number: usize) -> impl Fn(&ConfigMap) -> bool {
    move |map| map.data.as_ref().map_or(0, std::collections::BTreeMap::len) == number
}

#[kubewright_testing::test(virtual_time)]
async fn a_write_that_fails_is_tried_again() {
    let env = embedded(operator()).await;
    let injected = env.inject(Fault::fail(500).writes().of("configmaps"));
    env.apply(SAMPLE).await;
    env.eventually_matches::<Garden>("roses", condition("Ready", "True"))
        .await;
    assert_eq!(injected.hits(), 1);
    assert!(env.metrics().sum("controller_runtime_reconcile_errors_total", &[]) >= 1.0);
}

#[kubewright_testing::test(virtual_time)]
async fn an_answer_that_is_lost_does_no_harm() {
    let env = embedded(operator()).await;
    let injected = env.inject(Fault::lose_answer().writes().of("configmaps"));
    env.apply(SAMPLE).await;
    env.eventually_matches::<Garden>("roses", condition("Ready", "True"))
        .await;
    assert_eq!(injected.hits(), 1);
    let maps = env.list::<ConfigMap>().await;
    let made = maps.iter().filter(|map| map.metadata.owner_references.is_some());
    assert_eq!(made.count(), 1);
}

#[kubewright_testing::test(virtual_time)]
async fn watches_that_end_or_expire_are_taken_up_again() {
    let env = embedded(operator()).await;
    for (fault, wanted) in [(Fault::drop_watches(), 3), (Fault::expire_watches(), 4)] {
        env.apply(SAMPLE).await;
        let injected = env.inject(fault);
        assert_eq!(injected.hits(), 1);
        let sample = SAMPLE.replace("plants: 2", &format!("plants: {wanted}"));
        env.apply(sample).await;
        env.eventually::<ConfigMap>("roses", plants(wanted)).await;
    }
}

#[kubewright_testing::test(virtual_time)]
async fn a_delay_is_time_that_passes() {
    let env = embedded(operator()).await;
    env.inject(Fault::delay(Duration::from_secs(3)).writes().of("configmaps"));
    let began = tokio::time::Instant::now();
    env.apply(SAMPLE).await;
    env.eventually::<ConfigMap>("roses", plants(2)).await;
    assert_eq!(began.elapsed().as_secs(), 3);
}

#[kubewright_testing::test(virtual_time)]
async fn a_fault_that_lasts_ends_when_it_is_cleared() {
    let env = embedded(operator()).await;
    env.inject(Fault::fail(500).writes().of("configmaps").always());
    env.apply(SAMPLE).await;
    env.advance(Duration::from_secs(1)).await;
    assert!(env.get_opt::<ConfigMap>("roses").await.is_none());
    env.clear_faults();
    env.eventually::<ConfigMap>("roses", plants(2)).await;
}
