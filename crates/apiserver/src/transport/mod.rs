//! The receive stage: in-process for `kube` and any tower client, TLS for kubectl and everything else.
//!
//! A transport knows who its client is and how a body is read within its limit; it calls `ApiServer::serve` for every
//! request.

pub(crate) mod certificates;
mod connection;
mod http1;
mod identity;
mod in_process;
mod lent;
mod listener;
mod malformed;
mod offload;
mod own_certificate;
mod publish;
mod read;
mod stop;
mod tls;
mod upgraded;

pub(crate) use connection::ClientAddress;
pub use identity::user_of as user_of_certificate;
pub use in_process::InProcess;
pub use listener::{ListenError, ListenOptions, Listener};
pub(crate) use offload::{Notice, Threads};
