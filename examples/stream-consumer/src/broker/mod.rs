// SPDX-License-Identifier: Apache-2.0

//! The world outside of the cluster: a broker with topics. Nothing there is watched or collected by Kubernetes.

mod http;
mod memory;
mod server;

use std::future::Future;
use std::pin::Pin;

use kubewright::serde::{Deserialize, Serialize};

pub use self::http::{HttpBroker, URL_VARIABLE};
pub use memory::MemoryBroker;
pub use server::serve;

/// What a topic is to be like.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(crate = "kubewright::serde", rename_all = "camelCase")]
pub struct Topic {
    /// Whose it is: the uid of a `Consumer`. Nobody else changes or removes it.
    pub owner: String,
    /// In how many parts it is read.
    pub partitions: i32,
    /// How long messages are kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retention_seconds: Option<i64>,
}

/// Why a broker did not do what it was asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BrokerError {
    /// It cannot be reached, or is not well. Later it may be.
    #[error("the broker is not available: {0}")]
    Unavailable(String),
    /// The topic is somebody else's.
    #[error("the topic {0:?} belongs to somebody else")]
    Taken(String),
    /// It will not do that.
    #[error("the broker refuses: {0}")]
    Refused(String),
}

/// An answer on its way.
pub type Answer<'a> = Pin<Box<dyn Future<Output = Result<(), BrokerError>> + Send + 'a>>;

/// What the operator needs of a broker. Both calls may be repeated: what is done already is no error.
pub trait Broker: Send + Sync + 'static {
    /// Makes a topic, or changes it until it is as wanted.
    fn ensure<'a>(&'a self, name: &'a str, wanted: &'a Topic) -> Answer<'a>;

    /// Removes a topic of this owner. One that is gone, or somebody else's by now, needs nothing.
    fn remove<'a>(&'a self, name: &'a str, owner: &'a str) -> Answer<'a>;
}
