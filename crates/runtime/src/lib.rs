//! A controller-runtime for Rust: work queue, cache, client, controllers and manager on `kube`'s client.
//! Start at [`controller`] for controllers, [`client`] for reading and writing, [`informer`] and [`cache`] for what is known and
//! how, [`queue`] for who is next.

pub mod apply;
pub mod cache;
pub mod certificates;
pub mod chance;
pub mod client;
pub mod clock;
pub mod controller;
pub mod conversion;
pub mod events;
pub mod flags;
pub mod informer;
pub mod lease;
pub mod manager;
pub mod mapper;
pub mod metrics;
pub mod object;
pub mod operator;
pub(crate) mod permission;
pub mod queue;
pub mod reflector;
pub mod serve;
pub mod stop;
pub mod webhook;
