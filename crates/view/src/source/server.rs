//! An API server in this process: its objects, from its history, and what was asked of it, from its audit trail.

use std::time::Duration;

use kubewright_apiserver::{ApiServer, AuditDecision, AuditEvent};
use kubewright_manifests::rules::check::Request;
use kubewright_runtime::stop::Stop;

use super::{check_rights, is_event, is_left_out};
use crate::model::{Asked, Seen, SharedModel};

/// Requests are counted so often: what they say of rights takes time to find out.
const COUNT: Duration = Duration::from_millis(500);

/// Writes what changes in the cluster and what is asked of it from now on into the model, until the end is asked for. A model that was forked with the
/// cluster has what was before.
pub async fn follow_server(server: ApiServer, model: SharedModel, stop: Stop) {
    model.write(|model| model.requests.audited());
    tokio::select! {
        biased;
        () = stop.stopped() => {}
        () = follow_objects(&server, &model) => {}
        () = follow_requests(&server, &model) => {}
    }
}

async fn follow_objects(server: &ApiServer, model: &SharedModel) {
    // A model that was forked goes on where the cluster was.
    let mut seen = model.write(|model| {
        if model.archive.newest() == 0 {
            model.archive.begin_at(server.revision());
        }
        model.archive.newest()
    });
    loop {
        let now = server.written_after(seen).await;
        let changes = server.history(seen, |group, resource| {
            is_event(group, resource) || !is_left_out(group, resource)
        });
        // What is not shown has revisions, too.
        seen = changes.last().map_or(now, |change| now.max(change.revision));
        if changes.is_empty() {
            continue;
        }
        model.write(|model| {
            for change in changes {
                if is_event(&change.group, &change.resource) {
                    model.said.about(&change.object["involvedObject"]["uid"]);
                    continue;
                }
                model.object(Seen {
                    revision: change.revision,
                    at: change.time,
                    object: change.object.into_value(),
                    is_deletion: change.deleted,
                });
            }
        });
    }
}

async fn follow_requests(server: &ApiServer, model: &SharedModel) {
    // What was asked before, of which nothing is shown.
    let mut seen = server.audit_after(0).events().last().map_or(0, |event| event.number);
    loop {
        server.audited_after(seen).await;
        let events = server.audit_after(seen).events();
        seen = events.last().map_or(seen, |event| event.number);
        model.write(|model| events.iter().map(asked).for_each(|asked| model.requests.take(asked)));
        check_rights(model).await;
        tokio::time::sleep(COUNT).await;
    }
}

fn asked(event: &AuditEvent) -> Asked {
    let asked = &event.attributes;
    let user = event.actor().map_or("somebody unknown", |user| &*user.name);
    Asked {
        request: Request {
            user: user.to_owned(),
            verb: asked.verb.to_string(),
            group: asked.group.to_string(),
            resource: asked.resource.to_string(),
            subresource: asked.subresource.to_string(),
            namespace: asked.namespace.to_string(),
            name: asked.name.to_string(),
            path: asked.path.to_string(),
            allowed: event.decision == AuditDecision::Allowed,
        },
        code: event.code,
    }
}
