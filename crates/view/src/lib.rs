//! What happens in an operator and its cluster, for people.
//!
//! [`Model`] holds what is known, and says what it means. Sources ([`follow_operator`], [`follow_server`], [`follow_cluster`]) write into it; the [`Page`] in a browser
//! shows it. Nothing here has a source of its own: reconciles come from the operator's trace, objects from the API server.

mod model;
mod page;
mod source;

pub use model::{Model, OperatorState, SharedModel};
pub use page::Page;
pub use source::{
    Connect, Connecting, Connection, FollowedKind, OperatorKinds, follow_cluster, follow_operator, follow_server,
};
