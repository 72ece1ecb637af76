//! The files of a project's `config/`: what kustomize makes of them, what a cluster says to them, and what they were yesterday.
#![allow(missing_docs)]

mod cluster;
mod golden;
mod kustomize;
mod operators;
mod targets;
mod tree;
