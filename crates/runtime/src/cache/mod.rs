//! The objects of one kind: a store of records with indexes, events for handlers, and barriers that let a client read its own
//! writes. Everyone reads a [`Store`], a reflector feeds it through a [`Writer`], and a [`Lister`] reads it as a Rust type.

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
pub use index::{DeclaredIndex, Index, IndexQuery, Indexes, QueryOf};
pub use lister::{Lister, ReadError};
pub use state::Query;
pub use store::{Store, UnknownIndex, Writer};
pub use subscription::Subscription;
