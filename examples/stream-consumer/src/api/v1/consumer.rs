// SPDX-License-Identifier: Apache-2.0

//! `Consumer` in its newest version, the one that is stored: all others are converted to it and back.

use kubewright::prelude::*;

/// What a `Consumer` asks for: a topic on the broker, and workers that read it.
#[kubewright::resource(
    group = "stream.kubewright.dev",
    version = "v1",
    kind = "Consumer",
    namespaced,
    status = "ConsumerStatus",
    scale(
        spec_replicas = ".spec.workers.replicas",
        status_replicas = ".status.replicas",
        label_selector = ".status.selector"
    ),
    rule(
        "self.metadata.name.size() <= 40",
        message = "the name is part of labels and of its workers' names: 40 characters at most"
    ),
    printcolumn(name = "Topic", type = "string", json_path = ".spec.topic.name"),
    printcolumn(name = "Workers", type = "integer", json_path = ".spec.workers.replicas"),
    printcolumn(name = "Running", type = "integer", json_path = ".status.readyReplicas"),
    printcolumn(
        name = "Ready",
        type = "string",
        json_path = ".status.conditions[?(@.type==\"Ready\")].status"
    ),
    printcolumn(name = "Age", type = "date", json_path = ".metadata.creationTimestamp")
)]
#[schema(rule(
    "self.workers.replicas <= self.topic.partitions",
    message_expression = "'a worker reads at least one partition, and ' + self.topic.name + ' has fewer than workers'",
    field_path = ".workers.replicas"
))]
pub struct ConsumerSpec {
    /// The topic that is read. The operator makes it.
    pub topic: Topic,

    /// Who reads it.
    pub workers: Workers,

    /// What becomes of the topic when the `Consumer` is deleted.
    #[schema(default)]
    pub deletion_policy: DeletionPolicy,
}

/// A topic on the broker.
#[kubewright::schema]
pub struct Topic {
    /// Its name, unique in the namespace.
    #[schema(
        max_length = 63,
        pattern = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$",
        rule("self == oldSelf", message = "a topic cannot be renamed; make another Consumer")
    )]
    pub name: String,

    /// In how many parts it is read. Brokers can add partitions, not take them away.
    #[schema(
        minimum = 1,
        maximum = 64,
        default = 1,
        rule("self >= oldSelf", message = "partitions can be added, not taken away")
    )]
    pub partitions: i32,

    /// How long messages are kept. The broker decides, if it is not said.
    #[schema(minimum = 1, maximum = 315360000)]
    pub retention_seconds: Option<i64>,
}

/// The Pods that read a topic.
#[kubewright::schema]
pub struct Workers {
    /// How many there are. `kubectl scale` changes it.
    #[schema(minimum = 0, default = 1)]
    pub replicas: i32,

    /// What they run.
    #[schema(min_length = 1, max_length = 255)]
    pub image: String,
}

/// What becomes of a topic that nobody reads any more.
#[kubewright::schema]
#[derive(Copy, Default)]
pub enum DeletionPolicy {
    /// It goes, with all its messages.
    #[default]
    Delete,
    /// It stays.
    Retain,
}

/// What is observed of a `Consumer`.
#[kubewright::schema]
#[derive(Default)]
pub struct ConsumerStatus {
    /// How many workers there are.
    #[schema(optional)]
    pub replicas: i32,

    /// How many of them run.
    #[schema(optional)]
    pub ready_replicas: i32,

    /// Which Pods they are, for autoscalers.
    #[schema(optional)]
    pub selector: String,

    /// `TopicReady` and `Ready`.
    #[schema(optional, list_map_keys("type"))]
    pub conditions: Vec<Condition>,
}
