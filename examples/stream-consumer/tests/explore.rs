// SPDX-License-Identifier: Apache-2.0

//! A sample is created and deleted again and again, and each time the operator crashes at another
//! of its writes: in the end everything is as if nothing had happened, in the cluster and at the
//! broker. `kubewright explore` runs this test with all else that can go wrong.

use std::collections::BTreeMap;
use std::sync::Arc;

use kubewright::serde_json::{Value, json};
use kubewright::strict::from_json;
use kubewright::testing::explore::{Class, External, explore_with};
use stream_consumer::api::v1::Consumer;
use stream_consumer::broker::{MemoryBroker, Topic};

/// The broker, as an exploration asks for it.
#[derive(Default)]
struct FakeBroker(MemoryBroker);

impl External for FakeBroker {
    fn snapshot(&self) -> Value {
        json!(self.0.topics())
    }

    fn restore(&self, snapshot: &Value) {
        let topics: BTreeMap<String, Topic> = from_json(snapshot.clone()).expect("topics by their names");
        self.0.set_topics(topics);
    }
}

#[kubewright::test]
async fn crashes_and_restarts_do_no_harm() {
    explore_with(FakeBroker::default, |broker| {
        stream_consumer::operator_with(Arc::new(broker.0.clone()))
    })
    // Of the oldest version, so that it is converted on its way.
    .step("create", |env| async move {
        env.apply_file("config/samples/stream_v1alpha1_consumer.yaml").await;
    })
    .step("delete", |env| async move { env.delete::<Consumer>("clicks").await })
    .classes([Class::Restart, Class::Crash])
    .run()
    .await;
}
