//! Controllers: what wakes a reconciler, who is next, and what happens when it is done.
//! [`Controller`] is the builder, [`Reconciler`] what you write, [`Watch`] and [`Predicate`] say what wakes it.

mod action;
mod builder;
mod handler;
mod metrics;
mod predicate;
mod reconciler;
mod run;
mod stats;
mod watch;

pub use crate::trace::Outcome;
pub use action::{Action, Failure, Result};
pub use builder::Controller;
pub use predicate::Predicate;
pub use reconciler::{Context, Reconciler, Request};
pub use run::Environment;
pub use stats::{ControllerStats, Snapshot};
pub use watch::{Trigger, Watch};
