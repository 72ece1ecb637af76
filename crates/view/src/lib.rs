//! What happens in an operator and its cluster, for people.
//!
//! [`Model`] holds what is known, and says what it means. Sources ([`follow_operator`], [`follow_server`], [`follow_cluster`]) write into it; the [`Page`] in a browser
//! and the `TerminalView` show it. What is done in the cluster from there goes through a [`Cluster`]. A [`LiveView`] is all of it, for as long as a command runs. Nothing here has a source of its own: reconciles come from the operator's trace, objects from the API server.

mod actions;
mod live;
mod model;
mod page;
mod source;
#[cfg(unix)]
mod terminal;

pub use actions::{
    Abilities, Answer, ClientCluster, Cluster, Edit, Forked, Forks, LogStream, ObjectEvent, ObjectName, Propagation,
    Refusal, RefusedField, WantedLog,
};
pub use live::{LiveCluster, LiveOperator, LiveSettings, LiveView};
pub use model::{Model, OperatorState, SharedModel, StoryLine};
pub use page::{Page, PageContent};
pub use source::{
    Connect, Connecting, Connection, FollowedKind, OperatorKinds, follow_cluster, follow_operator, follow_server,
};
#[cfg(unix)]
pub use terminal::{TerminalSource, TerminalView};
