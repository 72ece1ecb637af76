//! The ways in: in-process for `kube` and any tower client, TLS for kubectl and everything else.
//!
//! A door finds out who asks, reads the body within its limit and calls [`ApiServer::handle_as`](crate::ApiServer).

mod certificates;
mod connection;
mod identity;
mod in_process;
mod listener;
mod publish;
mod read;
mod stop;

pub use in_process::InProcess;
pub use listener::{ListenError, ListenOptions, Listener};
