//! What the server of an aggregated API promises.

mod delegated;
mod kinds;
mod rows;
mod served;
mod support;
mod versions;
mod websocket;
