//! Rules of roles: in their smallest form, split by where they can be granted, and compared with what an operator asked for.

pub mod check;
mod grant;
mod minimal;
mod scope;

pub use minimal::{by_namespace, minimal};
pub use scope::{ByScope, by_scope};
