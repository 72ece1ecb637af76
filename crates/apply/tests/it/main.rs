//! Builders against the embedded API server, and against the facts that they are generated from.

mod apply;
mod extract;
mod generated;
mod kinds;
mod typed;
