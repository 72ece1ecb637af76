//! The controllers that keep pods running: Deployment, `ReplicaSet`, `StatefulSet`, `DaemonSet`, `ReplicationController`, and
//! the Scale that most of them share.

pub(crate) mod common;
mod daemon_set;
mod deployment;
mod replica_set;
mod replicas;
mod replication_controller;
pub mod scale;
mod stateful_set;

pub(crate) use daemon_set::DaemonSet;
pub(crate) use deployment::Deployment;
pub(crate) use replica_set::ReplicaSet;
pub(crate) use replication_controller::ReplicationController;
pub(crate) use stateful_set::StatefulSet;
