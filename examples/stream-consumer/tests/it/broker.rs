// SPDX-License-Identifier: Apache-2.0

//! The HTTP broker, asked over a real connection.

use kubewright::tokio;
use stream_consumer::broker::{Broker as _, BrokerError, HttpBroker, MemoryBroker, Topic, serve};
use tokio::net::{TcpListener, TcpSocket};

async fn served() -> (MemoryBroker, HttpBroker) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let broker = MemoryBroker::new();
    tokio::spawn(serve(listener, broker.clone()));
    (broker, HttpBroker::new(url))
}

fn topic(owner: &str, partitions: i32) -> Topic {
    Topic {
        owner: owner.to_owned(),
        partitions,
        retention_seconds: Some(60),
    }
}

#[kubewright::test]
async fn topics_are_made_changed_and_removed_over_http() {
    let (memory, http) = served().await;
    for partitions in [2, 2, 3] {
        http.ensure("shop.orders", &topic("a", partitions)).await.unwrap();
        assert_eq!(memory.topic("shop.orders"), Some(topic("a", partitions)));
    }
    for _ in 0..2 {
        http.remove("shop.orders", "a").await.unwrap();
        assert_eq!(memory.topic("shop.orders"), None);
    }
}

#[kubewright::test]
async fn what_a_broker_does_not_do_is_told_apart() {
    let (memory, http) = served().await;
    http.ensure("orders", &topic("a", 2)).await.unwrap();
    let taken = http.ensure("orders", &topic("b", 2)).await.unwrap_err();
    assert_eq!(taken, BrokerError::Taken("orders".to_owned()));
    let refused = http.ensure("orders", &topic("a", 1)).await.unwrap_err();
    assert_eq!(
        refused.to_string(),
        "the broker refuses: 422 Unprocessable Entity: orders has 2 partitions and keeps them"
    );
    memory.fail("no disk");
    let away = http.remove("orders", "a").await.unwrap_err();
    assert_eq!(
        away.to_string(),
        "the broker is not available: 503 Service Unavailable: no disk"
    );
    memory.recover();
    http.remove("orders", "b").await.unwrap();
    assert!(memory.topic("orders").is_some(), "it is not b's");
}

#[kubewright::test]
async fn an_address_that_is_none_is_named() {
    let error = HttpBroker::new("https://broker").remove("a", "b").await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "the broker refuses: BROKER_URL is \"https://broker\": it has to begin with http://"
    );
    let error = HttpBroker::new("http://not an address")
        .remove("a", "b")
        .await
        .unwrap_err();
    assert!(error.to_string().ends_with("it is not an address"), "{error}");
    // Bound, so that nobody else can have the port, and never listened on.
    let unserved = TcpSocket::new_v4().unwrap();
    unserved.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let nobody = unserved.local_addr().unwrap();
    let error = HttpBroker::new(format!("http://{nobody}"))
        .remove("a", "b")
        .await
        .unwrap_err();
    assert!(matches!(error, BrokerError::Unavailable(_)), "{error}");
}
