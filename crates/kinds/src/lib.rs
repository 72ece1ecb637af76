//! What Kubernetes knows about its own kinds, beyond what the table of facts says: conditional defaults, the fields a
//! kind's strategy owns, and validation in upstream's words. Pure functions over values, one small file per kind.

mod behaviour;

pub use behaviour::{Behaviour, Create, Generic, Update, behaviour};
