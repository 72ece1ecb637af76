//! What several controllers need: settings, indexes, Pods' states, claims, events, times.

pub(crate) mod claim;
pub(crate) mod creation;
pub(crate) mod discovery;
mod discovery_by_version;
pub(crate) mod events;
pub(crate) mod index;
pub(crate) mod labels;
pub(crate) mod pods;
mod settings;
pub(crate) mod time;

pub(crate) use settings::Settings;
