//! `pods/exec`, `pods/attach` and `pods/portforward`: connections to the containers of a Pod, with the refusals of upstream's API server.
//! Commands are answered by what was registered for the Pod; nothing else is there to connect to.

use std::sync::Arc;

use http::StatusCode;
use kubewright_apimachinery::go::quote;
use kubewright_store::{EventKind, Watcher};
use serde_json::Value;

use super::log::container;
use crate::access::check_create_of_connection;
use crate::object;
use crate::registry::{BuiltInId, Subresource};
use crate::request::HandlerOutput;
use crate::request::call::Call;
use crate::stream::exec::{ExecCommand, ExecEnd};
use crate::stream::is_upgrade;
use crate::stream::websocket::channels::{self, StdinEnds, Wanted};
use crate::wire::status::{Result, Status};

pub(super) fn connect(call: &Call<'_>, subresource: Subresource<'_>) -> Result<HandlerOutput> {
    check_create_of_connection(call)?;
    // The watcher begins before the Pod is read, so that its end is not missed.
    let (_, watcher) = call
        .server
        .store
        .snapshot_and_watch(call.resource().table, Some(call.target.namespace));
    let record = call.existing()?;
    let pod = object::to_value(call.resource(), &record, record.revision);
    let container = match subresource {
        Subresource::PortForward => String::new(),
        _ => container(&pod, call.query.text("container"))?,
    };
    let node = pod
        .pointer("/spec/nodeName")
        .and_then(Value::as_str)
        .unwrap_or_default();
    if node.is_empty() {
        let name = call.target.name;
        return Err(Status::bad_request(format!("pod {name} does not have a host assigned")));
    }
    let nodes = BuiltInId::Nodes.resource();
    if call.server.store.get(nodes.table, node).is_none() {
        // Upstream names the resource of the request, not that of the node.
        return Err(Status::not_found(call.resource().about(), node));
    }
    if !is_upgrade(call.headers) {
        return Err(Status::bad_request("Upgrade request required"));
    }
    let life = PodLife {
        watcher,
        key: call.key(),
        uid: record.uid.to_string(),
    };
    match subresource {
        Subresource::Exec => exec(call, container, life),
        _ => Err(nothing_there(call, subresource.name(), "")),
    }
}

fn exec(call: &Call<'_>, container: String, life: PodLife) -> Result<HandlerOutput> {
    let (namespace, pod, query) = (call.target.namespace, call.target.name, call.query);
    let Some(handler) = call.server.exec_handlers.of(namespace, pod) else {
        let remedy = "; `TestEnv::on_exec` and `ApiServer::on_exec` answer commands";
        return Err(nothing_there(call, "exec", remedy));
    };
    let Some(handshake) = call.websocket() else {
        let message = "the embedded API server runs commands over WebSocket only";
        return Err(Status::new(StatusCode::NOT_IMPLEMENTED, "NotImplemented", message));
    };
    let wants = |stream| query.flag(stream) == Some(true);
    let tty = wants("tty");
    let wanted = Wanted {
        stdin: wants("stdin"),
        stdout: wants("stdout"),
        // A terminal has one stream for both.
        stderr: wants("stderr") && !tty,
    };
    if !wanted.stdin && !wanted.stdout && !wanted.stderr {
        return Err(Status::bad_request(
            "you must specify at least 1 of stdin, stdout, stderr",
        ));
    }
    let mut command = ExecCommand {
        namespace: namespace.to_owned(),
        pod: pod.to_owned(),
        container,
        command: query.all("command").iter().map(|&part| part.to_owned()).collect(),
        tty,
        stdin_ends: false,
    };
    let response = channels::run(handshake, wanted, move |streams, StdinEnds(ends)| async move {
        command.stdin_ends = ends;
        let running = handler(command, streams);
        tokio::select! {
            end = running => end,
            () = life.end() => ExecEnd::Failed("the Pod is gone".to_owned()),
        }
    });
    Ok(HandlerOutput::Response(response))
}

/// The refusal of a connection to containers behind which there is no process.
fn nothing_there(call: &Call<'_>, what: &str, remedy: &str) -> Box<Status> {
    let pod = quote(call.target.name);
    let message =
        format!("pods/{what}: the containers of Pod {pod} are simulated, there is no process to connect to{remedy}");
    Status::new(StatusCode::NOT_IMPLEMENTED, "NotImplemented", message)
}

/// Waits for the end of a Pod.
struct PodLife {
    watcher: Watcher,
    key: String,
    uid: String,
}

impl PodLife {
    async fn end(mut self) {
        loop {
            self.watcher.ready().await;
            // History that was compacted says nothing; the connection goes on without this watch.
            let Ok(batch) = self.watcher.try_next(256) else {
                return std::future::pending().await;
            };
            let own = batch.events.iter().filter(|event| event.key() == self.key);
            let mut own = own.map(|event| (event.kind, Arc::clone(&event.record)));
            if own.any(|(kind, record)| kind == EventKind::Deleted || *record.uid != *self.uid) {
                return;
            }
        }
    }
}
