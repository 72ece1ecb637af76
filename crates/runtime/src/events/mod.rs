//! Kubernetes Events: recorded without waiting, and written to the server as series of `events.k8s.io/v1`.
//! [`EventRecorder`] takes them, [`EventWriter`] sends them.
//!
//! As in client-go, the second event that equals an earlier one in everything but its text begins a series: the server is told
//! of the second, then of the count when the series ends (six minutes of silence) and every half hour. One controller may cause
//! 25 requests about one object, and one more every five minutes; what goes beyond is counted in a series, or dropped.

mod limit;
mod name;
mod note;
mod record;
mod reference;
mod series;
mod sink;
#[cfg(test)]
mod tests;
mod writer;

pub use note::{EventNote, EventType};
pub(crate) use record::EventParts;
pub use record::EventRecorder;
pub use reference::{Referable, Reference};
pub use writer::EventWriter;
