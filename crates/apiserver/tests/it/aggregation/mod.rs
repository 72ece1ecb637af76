//! Aggregated APIs: servers that answer for a group, in this process and behind TLS, good and hostile ones.

mod hostile;
mod http2;
mod metrics_server;
mod proxy;
mod sample_apiserver;
mod support;
mod trust;
