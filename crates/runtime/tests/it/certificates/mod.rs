//! Certificates of webhooks on the embedded server: shared by replicas, renewed, announced, and redirected for local runs.

mod local;
mod managed;
mod rights;
mod support;
mod tls;
