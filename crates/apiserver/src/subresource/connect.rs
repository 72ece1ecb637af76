//! `pods/exec`, `pods/attach` and `pods/portforward`: connections to the containers of a Pod, with the refusals of upstream's API server.
//! Who answers them is in `stream::containers`; what is said over them in `stream`.

use http::StatusCode;
use kubewright_apimachinery::go::quote;
use serde_json::Value;

use super::life::ConnectionLife;
use super::log::container;
use crate::access::check_create_of_connection;
use crate::object;
use crate::registry::{BuiltInId, Subresource};
use crate::request::HandlerOutput;
use crate::request::call::Call;
use crate::stream::containers::{AttachTarget, PodContainers, PodIdentity};
use crate::stream::exec::{ExecCommand, ExecEnd, ExecFuture};
use crate::stream::port_forward::{self, ForwardedPod};
use crate::stream::remote_command::{RemoteCommand, StdinEnds, Wanted};
use crate::stream::websocket::channels;
use crate::stream::{is_upgrade, node, spdy};
use crate::wire::status::{Result, Status};

pub(super) async fn connect(call: &Call<'_>, subresource: Subresource<'_>) -> Result<HandlerOutput> {
    check_create_of_connection(call).await?;
    let (record, life) = ConnectionLife::of_pod(call)?;
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
    let identity = PodIdentity {
        namespace: call.target.namespace.to_owned(),
        name: call.target.name.to_owned(),
        uid: record.uid.to_string(),
    };
    let containers = call.server.containers.of(&call.server.store, &identity);
    match subresource {
        Subresource::Exec => exec(call, identity, container, &containers, life),
        Subresource::Attach => attach(call, identity, container, &containers, life),
        _ => forward(call, identity, containers, life),
    }
}

fn exec(
    call: &Call<'_>,
    pod: PodIdentity,
    container: String,
    containers: &PodContainers,
    life: ConnectionLife,
) -> Result<HandlerOutput> {
    let Some(handler) = containers.exec() else {
        let remedy = "`TestEnv::on_exec` and `ApiServer::on_exec` answer commands";
        return Err(nothing_there(call, "exec", remedy));
    };
    let (wanted, refusal) = wanted(call);
    let command = call.query.all("command").iter().map(|&part| part.to_owned()).collect();
    let run = move |streams, StdinEnds(stdin_ends)| -> ExecFuture {
        let command = ExecCommand {
            namespace: pod.namespace,
            pod: pod.name,
            uid: pod.uid,
            container,
            command,
            tty: wanted.tty,
            stdin: wanted.stdin,
            stdin_ends,
        };
        until_the_end(handler(command, streams), life)
    };
    Ok(carry(
        call,
        RemoteCommand {
            wanted,
            refusal,
            failure: "error executing command in container",
            run: Box::new(run),
        },
    ))
}

fn attach(
    call: &Call<'_>,
    pod: PodIdentity,
    container: String,
    containers: &PodContainers,
    life: ConnectionLife,
) -> Result<HandlerOutput> {
    let Some(handler) = containers.attach() else {
        let remedy = "`ApiServer::on_attach` answers for one";
        return Err(nothing_there(call, "attach", remedy));
    };
    let (wanted, refusal) = wanted(call);
    let run = move |streams, StdinEnds(stdin_ends)| -> ExecFuture {
        let target = AttachTarget {
            namespace: pod.namespace,
            pod: pod.name,
            uid: pod.uid,
            container,
            tty: wanted.tty,
            stdin: wanted.stdin,
            stdin_ends,
        };
        let attached = handler(target, streams);
        let attached = async {
            match attached.await {
                // Upstream's clients hear nothing of the code: they were not who ran the process.
                ExecEnd::Exited(_) => ExecEnd::Exited(0),
                failed @ ExecEnd::Failed(_) => failed,
            }
        };
        until_the_end(Box::pin(attached), life)
    };
    Ok(carry(
        call,
        RemoteCommand {
            wanted,
            refusal,
            failure: "error attaching to container",
            run: Box::new(run),
        },
    ))
}

/// The streams that the query asks for, and why upstream's nodes would refuse that.
fn wanted(call: &Call<'_>) -> (Wanted, Option<&'static str>) {
    let wants = |stream| call.query.flag(stream) == Some(true);
    let tty = wants("tty");
    let wanted = Wanted {
        stdin: wants("stdin"),
        stdout: wants("stdout"),
        // A terminal has one stream for both.
        stderr: wants("stderr") && !tty,
        tty,
    };
    let has_none = !wanted.stdin && !wanted.stdout && !wanted.stderr;
    let refusal = has_none.then_some("you must specify at least 1 of stdin, stdout, stderr");
    (wanted, refusal)
}

/// Carries the streams of a command over the protocol that the client asks for.
fn carry(call: &Call<'_>, command: RemoteCommand) -> HandlerOutput {
    HandlerOutput::Response(match call.websocket() {
        Some(handshake) => channels::run(handshake, command),
        None => spdy::command::run(call.headers, command),
    })
}

/// Runs a command for as long as a connection to its Pod may last.
pub(super) fn until_the_end(running: ExecFuture, life: ConnectionLife) -> ExecFuture {
    Box::pin(async move {
        tokio::select! {
            end = running => end,
            why = life.end() => ExecEnd::Failed(why.to_owned()),
        }
    })
}

fn forward(
    call: &Call<'_>,
    pod: PodIdentity,
    containers: PodContainers,
    life: ConnectionLife,
) -> Result<HandlerOutput> {
    if !containers.may_listen() {
        let remedy = "`TestEnv::on_connect` and `ApiServer::on_connect` answer for one";
        return Err(nothing_there(call, "portforward", remedy));
    }
    let pod = ForwardedPod {
        name: pod.name,
        containers,
    };
    let life = async {
        life.end().await;
    };
    Ok(HandlerOutput::Response(match call.websocket() {
        Some(handshake) if port_forward::tunnel::is_requested(handshake) => {
            port_forward::tunnel::run(handshake, pod, life)
        }
        Some(handshake) => match ports(call) {
            Ok(ports) => port_forward::channels::run(handshake, pod, ports, life),
            Err(why) => node::bad_request(&why),
        },
        None => port_forward::spdy::run(call.headers, pod, life),
    }))
}

/// Whether the options of a connection can be read. Upstream reads them before it asks anybody.
pub(super) fn check_options(call: &Call<'_>, subresource: Subresource<'_>) -> Result<()> {
    if subresource != Subresource::PortForward {
        return Ok(());
    }
    let named = call.query.all("ports");
    for text in named.iter().flat_map(|ports| ports.split(',')) {
        let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let why = match text.parse::<u16>() {
            Ok(_) if is_number => continue,
            _ if is_number => "value out of range",
            _ => "invalid syntax",
        };
        let text = quote(text);
        let message = format!("cannot convert to []int32: strconv.ParseUint: parsing {text}: {why}");
        return Err(Status::bad_request(message));
    }
    Ok(())
}

/// The ports that the query names, for clients that cannot name them later, or why a node would refuse them.
fn ports(call: &Call<'_>) -> std::result::Result<Vec<u16>, String> {
    /// Each has two channels, and channels have numbers of one byte.
    const MOST: usize = 127;
    let named = call.query.all("ports");
    let mut ports = Vec::new();
    for text in named.iter().flat_map(|ports| ports.split(',')) {
        match text.parse::<u16>() {
            Ok(port) if port > 0 => ports.push(port),
            _ => return Err(format!("port {} must be > 0", quote(text))),
        }
    }
    match ports.len() {
        0 => Err("query parameter \"port\" is required".to_owned()),
        1..=MOST => Ok(ports),
        _ => Err(format!("at most {MOST} ports can be forwarded at once")),
    }
}

/// The refusal of a connection to containers behind which there is no process.
fn nothing_there(call: &Call<'_>, what: &str, remedy: &str) -> Box<Status> {
    let pod = quote(call.target.name);
    let message =
        format!("pods/{what}: the containers of Pod {pod} are simulated, there is no process to connect to; {remedy}");
    Status::new(StatusCode::NOT_IMPLEMENTED, "NotImplemented", message)
}
