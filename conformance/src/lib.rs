//! The conformance corpus: API cases recorded from the real kube-apiserver and replayed on the embedded one.
//!
//! A [`case`] is HTTP steps without expectations. [`run`] plays it against a [`target::Target`], [`normalise`] turns what
//! came back into a transcript that is the same on every honest server, [`transcript`] keeps the recorded one beside the
//! case, and [`diff`] finds what a replay did differently. [`webhook`] is the process that servers call meanwhile. `README.md`
//! shows the format.

pub mod case;
pub mod corpus;
pub mod decisions;
pub mod diff;
pub mod embedded;
pub mod kubectl;
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
