//! Webhooks take time, which is the virtual clock's here: they are waited for, together and not for ever (A7).

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use kubewright_apiserver::{ApiServer, Options};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::support::{CONFIG_MAPS, Cluster, allow, answer_to, config_map, webhook};

/// Counts the calls that are being answered.
struct Busy(Arc<AtomicUsize>);

impl Busy {
    fn new(count: &Arc<AtomicUsize>) -> Busy {
        count.fetch_add(1, Ordering::Relaxed);
        Busy(Arc::clone(count))
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A server whose webhooks take as many seconds as the first part of their path says.
fn slow() -> (Cluster, Arc<AtomicUsize>) {
    let cluster = Cluster::over(ApiServer::new(Options::new()), |_, _| allow());
    let busy = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&busy);
    cluster
        .server
        .handle_host("hooks.test", 443, move |request: Request<Bytes>| {
            let busy = Busy::new(&count);
            async move {
                let seconds: String = request.uri().path().chars().filter(char::is_ascii_digit).collect();
                tokio::time::sleep(Duration::from_secs(seconds.parse().unwrap())).await;
                let review: Value = serde_json::from_slice(request.body()).unwrap();
                drop(busy);
                Response::new(answer_to(&review, allow()))
            }
        });
    (cluster, busy)
}

/// How many webhooks are still at work a moment later: one that nobody waits for any more ends when its task is next looked at.
async fn still(busy: &AtomicUsize) -> usize {
    tokio::time::sleep(Duration::from_millis(1)).await;
    busy.load(Ordering::Relaxed)
}

#[tokio::test(start_paused = true)]
async fn mutating_webhooks_add_up_and_validating_ones_do_not() {
    let (cluster, _) = slow();
    let webhooks = [webhook("s3.a", Value::Null), webhook("s4.a", Value::Null)];
    cluster.configure("Validating", "v", &webhooks).await;
    let start = Instant::now();
    assert_eq!(cluster.create("x").await.code, 201);
    assert_eq!(start.elapsed().as_secs(), 4);
    cluster.configure("Mutating", "m", &webhooks).await;
    let start = Instant::now();
    assert_eq!(cluster.create("y").await.code, 201);
    assert_eq!(start.elapsed().as_secs(), 11);
}

#[tokio::test(start_paused = true)]
async fn a_webhook_that_hangs_fails_the_request_after_its_time_and_is_let_go() {
    let (cluster, busy) = slow();
    cluster
        .configure("Mutating", "m", &[webhook("s99999.a", Value::Null)])
        .await;
    let start = Instant::now();
    let answer = cluster.create("x").await;
    assert_eq!(
        (answer.code, answer.message()),
        (
            500,
            "Internal error occurred: failed calling webhook \"s99999.a.example.com\": failed to call webhook: Post \
             \"https://hooks.test/s99999.a?timeout=10s\": context deadline exceeded"
        )
    );
    assert_eq!(start.elapsed().as_secs(), 10);
    assert_eq!(still(&busy).await, 0);
    let other = json!({ "failurePolicy": "Ignore", "timeoutSeconds": 3 });
    cluster.configure("Mutating", "m", &[webhook("s99999.a", other)]).await;
    let start = Instant::now();
    assert_eq!(cluster.create("x").await.code, 201);
    assert_eq!(start.elapsed().as_secs(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_request_does_not_wait_longer_than_its_client() {
    let (cluster, busy) = slow();
    for policy in ["Fail", "Ignore"] {
        let other = json!({ "failurePolicy": policy });
        cluster
            .configure("Validating", "v", &[webhook("s99999.a", other)])
            .await;
        let start = Instant::now();
        let answer = cluster
            .send("POST", &format!("{CONFIG_MAPS}?timeout=1500ms"), config_map("x"))
            .await;
        assert_eq!(
            (answer.code, answer.message()),
            (504, "Timeout: request did not complete within the allotted timeout")
        );
        assert_eq!(start.elapsed().as_millis(), 1500);
        assert_eq!(still(&busy).await, 0);
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_that_is_given_up_lets_its_webhook_go() {
    let (cluster, busy) = slow();
    cluster
        .configure("Validating", "v", &[webhook("s99999.a", Value::Null)])
        .await;
    let waiting = tokio::time::timeout(Duration::from_secs(1), cluster.create("x")).await;
    assert!(waiting.is_err());
    assert_eq!(still(&busy).await, 0);
}

#[tokio::test(start_paused = true)]
async fn no_request_waits_for_its_webhooks_without_end() {
    let (cluster, busy) = slow();
    let other = json!({ "failurePolicy": "Ignore" });
    let webhooks: Vec<Value> = (0..5)
        .map(|at| webhook(&format!("s9999{at}.a"), other.clone()))
        .collect();
    cluster.configure("Mutating", "m", &webhooks).await;
    let start = Instant::now();
    let answer = cluster.create("x").await;
    assert_eq!(
        (answer.code, answer.message()),
        (
            504,
            "Timeout: request did not complete within requested timeout - context deadline exceeded"
        )
    );
    assert_eq!(start.elapsed().as_secs(), 34);
    assert_eq!(still(&busy).await, 0);
}
