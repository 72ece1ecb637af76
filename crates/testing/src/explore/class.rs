//! The kinds of disturbances.

use std::fmt;

/// A kind of disturbance. All are tried by default, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Class {
    /// The manager is restarted between two steps, when everything has settled.
    Restart,
    /// The process ends before or after a write, and starts again.
    Crash,
    /// A write is answered with 409, 429, 500 or 503, its answer gets lost, it does not arrive, or arrives late.
    Requests,
    /// All watches end at a write, with and without 410 Gone.
    Watches,
    /// Somebody else deletes or edits what the operator made, owns an object of the name that it wants, or deletes what it works for.
    World,
    /// Users edit what the steps made: every field of its schema, there and back, one after another.
    Edits,
}

impl Class {
    /// All of them.
    pub const ALL: [Class; 6] = [
        Class::Restart,
        Class::Crash,
        Class::Requests,
        Class::Watches,
        Class::World,
        Class::Edits,
    ];
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Class::Restart => "restart",
            Class::Crash => "crash",
            Class::Requests => "requests",
            Class::Watches => "watches",
            Class::World => "world",
            Class::Edits => "edits",
        })
    }
}
