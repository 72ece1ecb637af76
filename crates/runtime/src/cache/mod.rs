//! What is known of one kind: a store of records with indexes, events for whoever asks, and barriers for who wrote.
//! [`Store`] is read by everyone, [`Writer`] is fed by a reflector, [`Lister`] reads as a Rust type.

mod barrier;
mod barriers;
mod delivery;
mod event;
mod index;
mod lister;
mod state;
mod store;
mod subscription;
#[cfg(test)]
mod tests;

pub(crate) use barrier::Barrier;
pub use barrier::BarrierTimeout;
pub use delivery::Registration;
pub use event::{Event, EventHandler};
pub use index::{Index, Indexes};
pub use lister::{Lister, ReadError};
pub use state::Query;
pub use store::{Store, UnknownIndex, Writer};
pub use subscription::Subscription;
