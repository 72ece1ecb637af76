//! What the crate promises, on the embedded server. One program: a module for each part of the crate.

mod by_hand;
mod cache_options;
mod certificates;
mod chaos;
mod client;
mod controller;
mod conversion;
mod custom_resources;
mod informers;
mod manager;
mod old_servers;
mod operator;
mod otlp;
mod own_writes;
mod program;
mod same_process;
mod support;
mod trace;
mod vanishing_kinds;
mod warm_up;
mod webhooks;
