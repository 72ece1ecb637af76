//! The cache of an operator: one informer per declared kind, each a store and the reflectors that feed it.
//! [`Declarations`] says what is wanted, [`Cache`] holds it, [`CacheTasks`] keeps it alive.

mod cache;
mod declarations;
mod fields;
mod first_need;

pub use cache::{Cache, CacheTasks, Informer};
pub use declarations::{DeclarationError, Declarations, InformerOptions};
pub use first_need::{FirstNeed, NoObjects};
