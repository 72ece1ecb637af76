// SPDX-License-Identifier: Apache-2.0

//! An environment and the broker that its operator talks to.

use std::sync::Arc;

use kubewright::testing::{Builder, Controllers, TestEnv};
use stream_consumer::broker::MemoryBroker;

pub const SAMPLE: &str = "config/samples/stream_v1_consumer.yaml";

pub struct Fixture {
    pub env: TestEnv,
    pub broker: MemoryBroker,
}

impl Fixture {
    pub async fn start() -> Self {
        Self::of(|env| env).await
    }

    /// On the embedded server, whose clock can stand still, and with no controllers but the operator's.
    pub async fn alone() -> Self {
        Self::of(|env| env.controllers(Controllers::none()).embedded()).await
    }

    async fn of(change: impl FnOnce(Builder) -> Builder) -> Self {
        let broker = MemoryBroker::new();
        let operator = stream_consumer::operator_with(Arc::new(broker.clone()));
        Fixture {
            env: change(TestEnv::builder().operator(operator)).start().await,
            broker,
        }
    }

    /// A topic of the test's namespace, as the broker calls it.
    pub fn topic(&self, name: &str) -> String {
        format!("{}.{name}", self.env.namespace())
    }
}
