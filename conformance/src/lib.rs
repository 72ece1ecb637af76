//! The conformance corpus: API cases recorded from the real kube-apiserver and replayed on the embedded one.
//!
//! A [`case`] is a list of HTTP steps without expectations. [`run`] plays it against a [`target::Target`]. [`normalise`] turns the
//! responses into a transcript, in which values that a server makes up are placeholders. [`transcript`] saves the recorded one
//! beside the case, and [`diff`] compares a replay with it. [`webhook`] is the HTTPS server that API servers call meanwhile,
//! [`kubelet`] what stands behind the containers of Pods.
//! `README.md` shows the format.

pub mod case;
mod cores;
pub mod corpus;
pub mod decisions;
pub mod diff;
pub mod embedded;
pub mod extension;
pub mod fuzz;
pub mod kubectl;
pub mod kubelet;
pub mod normalise;
pub mod operators;
pub mod print;
pub mod record;
pub mod remote;
pub mod replay;
pub mod report;
pub mod run;
pub mod scope;
mod seconds;
pub mod target;
pub mod template;
pub mod transcript;
pub mod webhook;
