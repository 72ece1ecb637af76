//! Server-side apply: who owns which field, and how an applied configuration is merged into the live object (S1-S14).
//!
//! The server calls [`update`] on every create, PUT and patch and [`apply`] on every apply; both answer the object to
//! store with `metadata.managedFields` computed. Everything a kind knows about its versions comes from [`Versions`].

mod applying;
mod configure;
mod conflict;
mod error;
mod extract;
mod last_applied;
mod metadata;
mod ownership;
#[cfg(test)]
mod properties;
mod prune;
#[cfg(test)]
mod recorded;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod times;
mod typed;
mod updating;
mod versions;

pub use conflict::{ConflictCause, Conflicts};
pub use error::ApplyError;
pub use extract::extract;
pub use times::keep_times_of_a_no_op;
pub use versions::{ConversionError, FieldManager, Versions};

use serde_json::Value;

use crate::Topology;

/// Computes `metadata.managedFields` of `new`, the object that a create, PUT or patch is about to store.
///
/// `live` is the stored object (`None` on create); both are at the version of the endpoint. Never fails: where upstream
/// fails, the result has no managedFields.
pub fn update<'t, V: Versions<'t>>(
    versions: &V,
    manager: &FieldManager<'_>,
    live: Option<&Value>,
    new: Value,
) -> Value {
    updating::update(versions, manager, live, new)
}

/// Merges the configuration `applied` onto the live object (`None` when apply creates it) and computes managedFields.
///
/// The live object and the answer are at the version of the endpoint. The answer is not yet what is stored: the caller
/// decodes it as it would a request (zero values and nulls that Go does not write go, and so do fields that the endpoint
/// resets) and defaults it, which gives removed fields their default back. An apply that changes nothing answers the live
/// object, timestamps included (M6).
pub fn apply<'t, V: Versions<'t>>(
    versions: &V,
    manager: &FieldManager<'_>,
    live: Option<&Value>,
    applied: &Value,
    force: bool,
) -> Result<Value, ApplyError> {
    applying::apply(versions, manager, live, applied, force)
}

/// Merges the configuration `applied` into `live` without owners: what a `MutatingAdmissionPolicy` does. Both are of type `of`.
///
/// Nothing that is owned as a whole may be configured, since what the configuration leaves out would be lost. The error is upstream's
/// message.
pub fn configure<'t, T: Topology<'t>>(of: T, live: &Value, applied: &Value) -> Result<Value, String> {
    configure::configure(of, live, applied)
}
