//! What clients see of the embedded server: over TLS and in the same process, as users with and without rights, and as attackers.

mod access;
mod access_hostile;
mod aggregation;
mod any_request;
mod authorization_webhook;
mod conversion;
mod custom_resources;
mod exec;
mod hostile;
mod in_process;
mod kubectl;
mod logs;
mod node_proxy;
mod options;
mod past;
mod port_forward;
mod protobuf;
mod proxy;
mod quota;
mod served_meanwhile;
mod streams_hostile;
mod tls;
mod webhooks;
mod websocket;
