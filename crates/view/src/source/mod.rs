//! Where it comes from: the operator's debug endpoint, and the API server.

mod cluster;
mod events;
mod kinds;
mod operator;
mod server;
mod server_sent;

pub use cluster::{FollowedKind, follow_cluster};
pub use kinds::OperatorKinds;
pub use operator::{Connect, Connecting, Connection, follow_operator};
pub use server::follow_server;

use crate::model::SharedModel;

/// Events and leases come and go without meaning anything for the tree.
fn is_left_out(group: &str, resource: &str) -> bool {
    is_event(group, resource) || (group, resource) == ("coordination.k8s.io", "leases")
}

fn is_event(group: &str, resource: &str) -> bool {
    matches!((group, resource), ("" | "events.k8s.io", "events"))
}

/// Compares what the operator asked for with what it may, if it asked for something else since the last time. That takes its time: neither a page nor
/// the objects wait for it.
async fn check_rights(model: &SharedModel) {
    let Some(to_check) = model.write(|model| model.requests.take_check()) else {
        return;
    };
    if let Ok(rights) = tokio::task::spawn_blocking(move || to_check.rights()).await {
        model.write(|model| model.requests.checked(rights));
    }
}
