//! The bytes of one object, and what can be known of it without decoding it.
//! [`Record`] is what the cache keeps, [`View`] what a reader gets, [`ObjectKey`] how both are found, [`Kind`] what they are.

mod compact;
mod key;
mod kind;
mod list;
#[cfg(test)]
mod proptests;
mod record;
mod scan;
mod selector;
mod view;

pub use key::ObjectKey;
pub use kind::{Kind, Object};
pub use record::{Owner, Record, RecordError};
pub use scan::ScanError;
pub use selector::{Selector, SelectorError};
pub use view::{DecodeError, View};

pub(crate) use list::{Frame, FrameKind, FrameObject, Page};
pub(crate) use record::revision;
pub(crate) use view::{DecodeSharing, MOST_RECENT, RecentForms, sharing};
