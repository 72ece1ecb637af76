//! What a page or a terminal does in the cluster: write, look past the model, read logs, fork the past.
//!
//! [`Cluster`] is all of it. [`ClientCluster`] does it by a client, with the rights of whoever looks; what only a command can do, starting a second
//! cluster, it does through [`Forks`].

mod client;
mod edit;
mod refusal;

use std::future::Future;
use std::io;
use std::path::PathBuf;
use std::pin::Pin;

use bytes::Bytes;
use futures_util::Stream;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use client::ClientCluster;
pub use refusal::{Refusal, RefusedField};

/// What becomes of a request to a cluster.
pub type Answer<'a, T> = Pin<Box<dyn Future<Output = Result<T, Refusal>> + Send + 'a>>;

/// Lines of a log as they come, in pieces.
pub type LogStream = Pin<Box<dyn Stream<Item = io::Result<Bytes>> + Send>>;

/// A cluster, as far as a page or a terminal acts in it. Every method is one request that somebody asked for.
pub trait Cluster: Send + Sync {
    /// What can be done here at all. Nothing else is offered.
    fn abilities(&self) -> Abilities;

    /// An object as the API server has it, with all that the model does not keep: the contents of Secrets.
    fn read<'a>(&'a self, object: &'a ObjectName) -> Answer<'a, Value>;

    /// Sends what was edited: the difference between an object as it was shown and as it is now wanted. Fields that others changed meanwhile stay as
    /// they are. Without a base the object is created. Unknown fields are refused. Returns the object as it is then.
    fn apply(&self, edit: Edit) -> Answer<'_, Value>;

    /// Wants as many replicas, by the subresource `scale`.
    fn scale<'a>(&'a self, object: &'a ObjectName, replicas: u32) -> Answer<'a, ()>;

    /// Deletes an object: the one with this uid, not another of the same name.
    fn delete<'a>(&'a self, object: &'a ObjectName, uid: &'a str, propagation: Propagation) -> Answer<'a, ()>;

    /// What was said about an object, the newest first.
    fn events<'a>(&'a self, object: &'a ObjectName, uid: &'a str) -> Answer<'a, Vec<ObjectEvent>>;

    /// The log of a container.
    fn logs<'a>(&'a self, pod: &'a ObjectName, wanted: &'a WantedLog) -> Answer<'a, LogStream>;

    /// Starts another cluster, as this one was at a revision, with a view of its own.
    fn fork(&self, revision: u64) -> Answer<'_, Forked>;
}

/// What can be done in a cluster.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Abilities {
    /// Apply, scale and delete.
    pub writes: bool,
    /// Fork the past.
    pub forks: bool,
}

/// Which object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectName {
    /// As `apps/v1`.
    pub api_version: String,
    /// As `Deployment`.
    pub kind: String,
    /// `None` for those of the cluster.
    pub namespace: Option<String>,
    /// Its name.
    pub name: String,
}

/// An edit of an object.
#[derive(Clone, Debug)]
pub struct Edit {
    /// As it was shown; `None` creates the object.
    pub base: Option<Value>,
    /// As it is wanted.
    pub edited: Value,
}

/// What becomes of the objects that a deleted one owns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Propagation {
    /// They are deleted after it.
    #[default]
    Background,
    /// They are deleted before it.
    Foreground,
    /// They stay.
    Orphan,
}

/// The part of a log that is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WantedLog {
    /// The container; `None` if the Pod has one.
    pub container: Option<String>,
    /// Whether what is written later comes, too.
    pub follows: bool,
    /// How many of the last lines.
    pub tail: u32,
    /// Whether that of the container before the last restart.
    pub is_previous: bool,
}

/// Something that was said about an object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ObjectEvent {
    /// `Normal` or `Warning`.
    #[serde(rename = "type")]
    pub event_type: String,
    /// In a word.
    pub reason: String,
    /// In words.
    pub message: String,
    /// Who said it.
    pub source: String,
    /// How often.
    pub count: u64,
    /// When it was said last, as the API server writes it.
    pub at: String,
}

/// Starts clusters as another was.
pub trait Forks: Send + Sync {
    /// See [`Cluster::fork`].
    fn fork(&self, revision: u64) -> Answer<'_, Forked>;
}

/// A cluster that was forked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Forked {
    /// The revision that it goes on from.
    pub revision: u64,
    /// Its page, with the token that lets one in.
    pub link: String,
    /// Its kubeconfig.
    pub kubeconfig: PathBuf,
}
