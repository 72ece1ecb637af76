// SPDX-License-Identifier: Apache-2.0

//! `Consumer`s on a Kubernetes API in this process, with a broker that fails when it is told to.

use std::time::Duration;

use kubewright::k8s_openapi::api::apps::v1::Deployment;
use kubewright::k8s_openapi::api::core::v1::Pod;
use kubewright::prelude::*;
use kubewright::testing::matchers;
use stream_consumer::api::v1::{Consumer, DeletionPolicy};
use stream_consumer::controllers::consumer::FINALIZER;

use super::support::{Fixture, SAMPLE};

fn ready() -> impl matchers::Matcher {
    matchers::condition("Ready", "True")
}

#[kubewright::test]
async fn a_consumer_has_its_topic_and_its_workers() {
    let fixture = Fixture::start().await;
    fixture.env.apply_file(SAMPLE).await;
    let consumer = fixture.env.eventually_matches::<Consumer>("orders", ready()).await;

    let topic = fixture
        .broker
        .topic(&fixture.topic("orders"))
        .expect("the topic is there");
    assert_eq!((topic.partitions, topic.retention_seconds), (4, Some(86400)));
    assert_eq!(Some(topic.owner), consumer.uid());
    let workers: Deployment = fixture.env.get("orders-workers").await;
    assert!(is_controlled_by(&workers, &consumer));
    let container = &workers.spec.unwrap().template.spec.unwrap().containers[0];
    assert_eq!(container.image.as_deref(), Some("example.com/worker:1.0"));
    assert_eq!(fixture.env.list::<Pod>().await.len(), 2);
    let status = consumer.status.unwrap();
    assert_eq!((status.replicas, status.ready_replicas), (2, 2));
    assert!(has_finalizer(&fixture.env.get::<Consumer>("orders").await, FINALIZER));
    fixture.env.eventually_event::<Consumer>("orders", "TopicReady").await;
    fixture.env.settle().await;
    fixture.env.assert_idempotent().await;
}

#[kubewright::test]
async fn a_change_reaches_the_broker_and_the_workers() {
    let fixture = Fixture::start().await;
    fixture.env.apply_file(SAMPLE).await;
    fixture.env.eventually_matches::<Consumer>("orders", ready()).await;
    fixture
        .env
        .edit::<Consumer>("orders", |consumer| {
            consumer.spec.topic.partitions = 8;
            consumer.spec.workers.image = "example.com/worker:2.0".to_owned();
        })
        .await;
    let image = matchers::field("spec.template.spec.containers.0.image", "example.com/worker:2.0");
    fixture
        .env
        .eventually_matches::<Deployment>("orders-workers", image)
        .await;
    assert_eq!(fixture.broker.topic(&fixture.topic("orders")).unwrap().partitions, 8);
}

#[kubewright::test]
async fn the_topic_goes_before_the_object_and_the_workers_with_it() {
    let fixture = Fixture::start().await;
    fixture.env.apply_file(SAMPLE).await;
    fixture.env.eventually_matches::<Consumer>("orders", ready()).await;
    fixture.env.delete::<Consumer>("orders").await;
    fixture.env.eventually_gone::<Consumer>("orders").await;
    assert_eq!(fixture.broker.topic(&fixture.topic("orders")), None);
    fixture.env.eventually_gone::<Deployment>("orders-workers").await;
    fixture.env.eventually_list::<Pod>(<[Pod]>::is_empty).await;
}

#[kubewright::test]
async fn a_topic_that_is_to_stay_stays() {
    let fixture = Fixture::start().await;
    fixture.env.apply_file(SAMPLE).await;
    fixture.env.eventually_matches::<Consumer>("orders", ready()).await;
    fixture
        .env
        .edit::<Consumer>("orders", |consumer| {
            consumer.spec.deletion_policy = DeletionPolicy::Retain
        })
        .await;
    // The broker need not even be there.
    fixture.broker.fail("maintenance");
    fixture.env.delete::<Consumer>("orders").await;
    fixture.env.eventually_gone::<Consumer>("orders").await;
    assert!(fixture.broker.topic(&fixture.topic("orders")).is_some());
}

#[kubewright::test]
async fn a_broker_that_fails_keeps_the_object_which_says_why_and_goes_when_it_recovers() {
    let fixture = Fixture::start().await;
    fixture.env.apply_file(SAMPLE).await;
    fixture.env.eventually_matches::<Consumer>("orders", ready()).await;

    fixture.broker.fail("the disk is full");
    fixture.env.delete::<Consumer>("orders").await;
    let why = matchers::condition("TopicReady", "False").reason("TopicNotRemoved");
    let kept = fixture.env.eventually_matches::<Consumer>("orders", why).await;
    assert!(kept.metadata.deletion_timestamp.is_some());
    let condition = find_condition(&kept.status.as_ref().unwrap().conditions, "TopicReady").unwrap();
    assert_eq!(condition.message, "the broker is not available: the disk is full");
    let event = fixture
        .env
        .eventually_event::<Consumer>("orders", "TopicNotRemoved")
        .await
        .remove(0);
    assert_eq!(event.type_.as_deref(), Some("Warning"));
    assert!(fixture.broker.topic(&fixture.topic("orders")).is_some());

    fixture.broker.recover();
    fixture.env.eventually_gone::<Consumer>("orders").await;
    assert_eq!(fixture.broker.topic(&fixture.topic("orders")), None);
}

#[kubewright::test]
async fn a_manager_that_was_away_removes_the_topic_when_it_is_back() {
    let fixture = Fixture::start().await;
    fixture.env.apply_file(SAMPLE).await;
    fixture.env.eventually_matches::<Consumer>("orders", ready()).await;

    fixture.env.stop_manager().await;
    fixture.env.delete::<Consumer>("orders").await;
    // Nobody takes the finalizer off, so the object waits.
    assert!(
        fixture
            .env
            .get::<Consumer>("orders")
            .await
            .metadata
            .deletion_timestamp
            .is_some()
    );
    fixture.env.start_manager().await;
    fixture.env.eventually_gone::<Consumer>("orders").await;
    assert_eq!(fixture.broker.topic(&fixture.topic("orders")), None);
}

#[kubewright::test]
async fn a_restart_in_the_middle_comes_to_the_same_end() {
    let fixture = Fixture::start().await;
    fixture.broker.fail("not yet");
    fixture.env.apply_file(SAMPLE).await;
    let trouble = matchers::condition("TopicReady", "False").reason("BrokerUnavailable");
    fixture.env.eventually_matches::<Consumer>("orders", trouble).await;
    assert!(fixture.env.get_opt::<Deployment>("orders-workers").await.is_none());

    fixture.env.restart_manager().await;
    fixture.broker.recover();
    fixture.env.eventually_matches::<Consumer>("orders", ready()).await;
    fixture.env.restart_manager().await;
    fixture.env.settle().await;
    fixture.env.assert_idempotent().await;
}

#[kubewright::test]
async fn the_topic_of_somebody_else_is_not_touched() {
    let fixture = Fixture::start().await;
    fixture.env.apply_file(SAMPLE).await;
    fixture.env.eventually_matches::<Consumer>("orders", ready()).await;
    let second = std::fs::read_to_string(SAMPLE).unwrap();
    let second = second.replace("  name: orders\nspec", "  name: second\nspec");
    fixture.env.apply(second).await;
    let taken = matchers::condition("TopicReady", "False").reason("TopicTaken");
    fixture.env.eventually_matches::<Consumer>("second", taken).await;

    // Its end does not take the other's topic with it.
    fixture.env.delete::<Consumer>("second").await;
    fixture.env.eventually_gone::<Consumer>("second").await;
    assert!(fixture.broker.topic(&fixture.topic("orders")).is_some());
}

#[kubewright::test(virtual_time)]
async fn a_broker_that_is_away_is_asked_less_and_less_often() {
    let fixture = Fixture::alone().await;
    fixture.broker.fail("no route");
    fixture.env.apply_file(SAMPLE).await;
    let settled = fixture.env.settle().await;
    assert_eq!(settled.delayed.len(), 1);
    let delayed = settled.delayed[0].to_string();
    assert!(delayed.contains("orders") && delayed.contains("no route"), "{delayed}");

    fixture.env.advance(Duration::from_mins(1)).await;
    let first_minute = fixture.broker.calls();
    // 5 ms doubled again and again: some fourteen calls in the first minute, one or two in the next.
    assert!((10..=18).contains(&first_minute), "{first_minute} calls");
    fixture.env.advance(Duration::from_mins(1)).await;
    assert!(fixture.broker.calls() <= first_minute + 2);

    fixture.broker.recover();
    fixture.env.advance(Duration::from_mins(5)).await;
    assert!(fixture.broker.topic(&fixture.topic("orders")).is_some());
    assert!(fixture.env.settle().await.delayed.is_empty());
}

#[kubewright::test(virtual_time)]
async fn a_topic_that_vanished_comes_back_within_five_minutes() {
    let fixture = Fixture::alone().await;
    fixture.env.apply_file(SAMPLE).await;
    fixture.env.settle().await;
    assert!(fixture.broker.lose(&fixture.topic("orders")));
    fixture.env.advance(Duration::from_mins(4)).await;
    assert_eq!(fixture.broker.topic(&fixture.topic("orders")), None);
    fixture.env.advance(Duration::from_mins(2)).await;
    assert!(fixture.broker.topic(&fixture.topic("orders")).is_some());
}
