//! Differential fuzzing: generated cases are played on the real server and on the embedded one, and compared as a replay is.
//!
//! [`classes`] generates a [`generated::GeneratedCase`] from a seed and an index, by the [`weights`] alone. [`pair`] plays it on both
//! servers and compares the transcripts up to the first step that differs. A difference has a [`signature`], by which it is counted; the
//! first case of each is [`shrink`]ed and written as a case file that the recorder takes as it is. [`campaign`] does all of that for as
//! many requests as asked for, and [`tally`] is its table. [`corpora`] makes cases of the definitions and samples of well-known projects.

pub mod built_ins;
pub mod campaign;
pub mod classes;
pub mod corpora;
mod decoded;
pub mod generated;
pub mod mutate;
pub mod pair;
pub mod patches;
pub mod random;
pub mod schemas;
pub mod shrink;
pub mod signature;
pub mod tally;
pub mod values;
pub mod weights;
pub mod words;
