//! What clients do: one file per verb.

pub(crate) mod answer;
pub(crate) mod collection;
pub(crate) mod create;
pub(crate) mod delete;
pub(crate) mod get;
pub(crate) mod list;
pub(crate) mod patch;
pub(crate) mod update;
pub(crate) mod watch;
