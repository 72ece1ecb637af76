// SPDX-License-Identifier: Apache-2.0

//! `Consumer` as it began: one text for the topic, and everything else flat. It knew neither retention nor policy.
//! Fields that became several, or moved into another struct, are beyond `#[convert(…)]`: this conversion is written by hand.

use kubewright::prelude::*;

use crate::api::v1::{self, DeletionPolicy};

/// What a `Consumer` asks for.
#[kubewright::resource(
    group = "stream.kubewright.dev",
    version = "v1alpha1",
    kind = "Consumer",
    namespaced,
    status = "v1::ConsumerStatus",
    storage = false,
    deprecated = "stream.kubewright.dev/v1alpha1 Consumer is deprecated; use v1",
    scale(
        spec_replicas = ".spec.replicas",
        status_replicas = ".status.replicas",
        label_selector = ".status.selector"
    ),
    rule(
        "self.metadata.name.size() <= 40",
        message = "the name is part of labels and of its workers' names: 40 characters at most"
    )
)]
#[schema(rule(
    "self.replicas <= (self.topic.contains('/') ? int(self.topic.split('/')[1]) : 1)",
    message = "a worker reads at least one partition",
    field_path = ".replicas"
))]
pub struct ConsumerSpec {
    /// The topic that is read, as `orders`, or as `orders/3` if it has three partitions.
    #[schema(
        max_length = 66,
        pattern = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?(/([2-9]|[1-5][0-9]|6[0-4]))?$",
        rule(
            "self.split('/')[0] == oldSelf.split('/')[0]",
            message = "a topic cannot be renamed; make another Consumer"
        )
    )]
    pub topic: String,

    /// How many workers read it.
    #[schema(minimum = 0, default = 1)]
    pub replicas: i32,

    /// What they run.
    #[schema(min_length = 1, max_length = 255)]
    pub image: String,
}

/// A text that names no topic.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("topic: {0:?} is not a name and a number of partitions, as orders/3")]
pub struct InvalidTopic(String);

impl TryFrom<Consumer> for v1::Consumer {
    type Error = InvalidTopic;

    fn try_from(old: Consumer) -> Result<Self, InvalidTopic> {
        Ok(v1::Consumer {
            metadata: old.metadata,
            spec: old.spec.try_into()?,
            status: old.status,
        })
    }
}

impl From<v1::Consumer> for Consumer {
    fn from(new: v1::Consumer) -> Self {
        Consumer {
            metadata: new.metadata,
            spec: new.spec.into(),
            status: new.status,
        }
    }
}

impl TryFrom<ConsumerSpec> for v1::ConsumerSpec {
    type Error = InvalidTopic;

    fn try_from(old: ConsumerSpec) -> Result<Self, InvalidTopic> {
        let (name, partitions) = match old.topic.rsplit_once('/') {
            None => (old.topic.as_str(), 1),
            Some((name, number)) => (name, number.parse().map_err(|_| InvalidTopic(old.topic.clone()))?),
        };
        Ok(v1::ConsumerSpec {
            topic: v1::Topic {
                name: name.to_owned(),
                partitions,
                retention_seconds: None,
            },
            workers: v1::Workers {
                replicas: old.replicas,
                image: old.image,
            },
            deletion_policy: DeletionPolicy::default(),
        })
    }
}

impl From<v1::ConsumerSpec> for ConsumerSpec {
    /// The retention and the policy have no place here: as the kind is preserving, they travel in an annotation.
    fn from(new: v1::ConsumerSpec) -> Self {
        let v1::Topic { name, partitions, .. } = new.topic;
        ConsumerSpec {
            // No name has a slash, but if one had, the number would keep it apart.
            topic: if partitions == 1 && !name.contains('/') {
                name
            } else {
                format!("{name}/{partitions}")
            },
            replicas: new.workers.replicas,
            image: new.workers.image,
        }
    }
}
