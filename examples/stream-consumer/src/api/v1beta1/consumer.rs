// SPDX-License-Identifier: Apache-2.0

//! `Consumer` as it was before v1: fields had other names, the retention was a text, the policy a yes or no.
//! What differs field by field is said in `#[convert(…)]`; the rest is derived.

use kubewright::prelude::*;

use crate::api::retention;
use crate::api::v1::{self, DeletionPolicy};

/// What a `Consumer` asks for.
#[kubewright::resource(
    group = "stream.kubewright.dev",
    version = "v1beta1",
    kind = "Consumer",
    namespaced,
    status = "v1::ConsumerStatus",
    storage = false,
    scale(
        spec_replicas = ".spec.workers.size",
        status_replicas = ".status.replicas",
        label_selector = ".status.selector"
    ),
    rule(
        "self.metadata.name.size() <= 40",
        message = "the name is part of labels and of its workers' names: 40 characters at most"
    )
)]
#[schema(rule(
    "self.workers.size <= self.topic.partitions",
    message = "a worker reads at least one partition",
    field_path = ".workers.size"
))]
#[derive(Convert)]
#[convert(hub = v1::ConsumerSpec, try_to_hub)]
pub struct ConsumerSpec {
    /// The topic that is read.
    pub topic: Topic,

    /// Who reads it.
    pub workers: Workers,

    /// The topic outlives the `Consumer`. In v1 it is `deletionPolicy`.
    #[schema(optional)]
    #[convert(rename = deletion_policy, with = keep_topic)]
    pub keep_topic: bool,
}

/// A topic on the broker.
#[kubewright::schema]
#[derive(Convert)]
#[convert(hub = v1::Topic)]
pub struct Topic {
    /// Its name.
    #[schema(
        max_length = 63,
        pattern = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$",
        rule("self == oldSelf", message = "a topic cannot be renamed; make another Consumer")
    )]
    pub name: String,

    /// In how many parts it is read.
    #[schema(
        minimum = 1,
        maximum = 64,
        default = 1,
        rule("self >= oldSelf", message = "partitions can be added, not taken away")
    )]
    pub partitions: i32,

    /// How long messages are kept, as `90s`, `30m` or `24h`. In v1 it is a number of seconds.
    #[schema(max_length = 10, pattern = "^[1-9][0-9]{0,7}[smh]$")]
    #[convert(rename = retention_seconds, try_to_hub = retention::to_seconds, from_hub = retention::to_text)]
    pub retention: Option<String>,
}

/// The Pods that read a topic.
#[kubewright::schema]
#[derive(Convert)]
#[convert(hub = v1::Workers)]
pub struct Workers {
    /// How many there are. In v1 it is `replicas`.
    #[schema(minimum = 0, default = 1)]
    #[convert(rename = replicas)]
    pub size: i32,

    /// What they run.
    #[schema(min_length = 1, max_length = 255)]
    pub image: String,
}

/// From a yes or no to a policy, and back.
mod keep_topic {
    use super::DeletionPolicy;

    pub(super) fn to_hub(keep: bool) -> DeletionPolicy {
        if keep {
            DeletionPolicy::Retain
        } else {
            DeletionPolicy::Delete
        }
    }

    pub(super) fn from_hub(policy: DeletionPolicy) -> bool {
        policy == DeletionPolicy::Retain
    }
}
