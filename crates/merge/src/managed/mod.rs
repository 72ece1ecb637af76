//! Sets of fields and the managers that own them: what `metadata.managedFields` says.
//!
//! [`FieldSet`] is what one manager owns, [`ManagedFields`] has all managers of an object, [`FieldFilter`] is what an endpoint
//! never owns.

mod algebra;
mod element;
mod entries;
mod fields_v1;
mod filter;
mod order;
mod scale;
mod set;
#[cfg(test)]
mod tests;
mod time;

pub use element::{Path, PathElement};
pub use entries::{DecodeError, ManagedFields, ManagedFieldsEntry, ManagerId, Operation};
pub use fields_v1::FieldsError;
pub use filter::FieldFilter;
pub use scale::{ReplicasPaths, parent_managed_fields, scale_managed_fields};
pub use set::FieldSet;

pub(crate) use order::equal_values;
pub(crate) use set::Node;

/// How deep sets and typed walks go. Below that a place is owned as a whole and a set is not decodable: it bounds the
/// stack, and no type that people write is nearly as deep.
pub(crate) const MAX_DEPTH: usize = 256;
