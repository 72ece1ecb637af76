//! Conversion of a kind with three versions: the webhook's answers, what is kept, what comes back.

mod hostile;
mod kinds;
mod preserving;
mod recorded;
mod round_trips;
mod server;
mod webhook;
