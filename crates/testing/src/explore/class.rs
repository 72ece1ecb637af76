//! The kinds of disturbances.

use std::fmt;

/// A kind of disturbance. All are tried by default, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Class {
    /// The manager is restarted between two steps, when everything has settled; or none runs while users take a step, and the one that
    /// starts afterwards sees only what they left.
    Restart,
    /// The process ends before or after a write, and starts again; or another replica takes over.
    Crash,
    /// A write is answered with 409, 429, 500 or 503, its answer gets lost, it does not arrive or arrives late, or its answer comes late
    /// or never, whether the server has done it or not; a read from the server fails, gets no answer or is late.
    Requests,
    /// All watches end at a write, with and without 410 Gone.
    Watches,
    /// Events of one kind come late or never, and the state is listed instead; what was deleted and made again is seen as one change.
    Staleness,
    /// The role of the operator has not all rights, for a while.
    Rights,
    /// The operator's own webhooks are down or slow for a while after a write, or down while users take a step.
    Webhooks,
    /// The clock of the operator's machine is an hour ahead or behind, or jumps by that much.
    Clock,
    /// Somebody else deletes or edits what the operator made, owns an object of the name that it wants, deletes what it works for, or
    /// keeps that with a finalizer while it is deleted; a node fails and comes back.
    World,
    /// Users edit what the steps made: every field of its schema, there and back, one after another.
    Edits,
    /// Two disturbances of writes in one run. Tried last, as far as [`pairs`](crate::explore::Exploration::pairs) or
    /// [`time`](crate::explore::Exploration::time) says.
    Pairs,
}

impl Class {
    /// All of them.
    pub const ALL: [Class; 11] = [
        Class::Restart,
        Class::Crash,
        Class::Requests,
        Class::Watches,
        Class::Staleness,
        Class::Rights,
        Class::Webhooks,
        Class::Clock,
        Class::World,
        Class::Edits,
        Class::Pairs,
    ];
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Class::Restart => "restart",
            Class::Crash => "crash",
            Class::Requests => "requests",
            Class::Watches => "watches",
            Class::Staleness => "staleness",
            Class::Rights => "rights",
            Class::Webhooks => "webhooks",
            Class::Clock => "clock",
            Class::World => "world",
            Class::Edits => "edits",
            Class::Pairs => "pairs",
        })
    }
}
