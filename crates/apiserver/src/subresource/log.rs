//! `pods/log`: reads or follows the log of a container, with the errors of upstream's API server and of the kubelet.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::stream::{self, BoxStream};
use futures_util::{Stream, StreamExt as _};
use http::{HeaderValue, Response, StatusCode, header};
use kubewright_apimachinery::go::quote;
use kubewright_store::Watcher;
use serde_json::Value;

use crate::logs::{Log, LogCursor, LogOptions};
use crate::object::{self, meta_text};
use crate::registry::{BuiltInId, Resource};
use crate::request::HandlerOutput;
use crate::request::call::Call;
use crate::stream::websocket::{self, Demand, Form, Handshake};
use crate::wire::body::Body;
use crate::wire::query::Query;
use crate::wire::respond;
use crate::wire::status::{Result, Status};

/// The most of a log that upstream puts into one message.
const MESSAGE: usize = 2048;

pub(super) fn get(call: &Call<'_>) -> Result<HandlerOutput> {
    let container = call.query.text("container");
    let read = read(
        call,
        call.websocket(),
        call.query,
        (call.target.namespace, call.target.name, container),
    );
    read.map(HandlerOutput::Response)
}

/// Answers with the log of a container of a Pod, as the query says, over a WebSocket if there is a handshake for one.
pub(super) fn read(
    call: &Call<'_>,
    handshake: Option<Handshake<'_>>,
    query: &Query,
    (namespace, name, container): (&str, &str, &str),
) -> Result<Response<Body>> {
    let pods = BuiltInId::Pods.resource();
    // The watcher begins before the Pod is read, so that no change of it is missed.
    let (_, watcher) = call.server.store.snapshot_and_watch(pods.table, Some(namespace));
    let key = object::key(namespace, name);
    let record = call.server.store.get(pods.table, &key);
    let record = record.ok_or_else(|| Status::not_found(pods.about(), name))?;
    let pod = object::to_value(pods, &record, record.revision);
    let options = LogOptions::parse(query, name, call.server.clock.now())?;
    let container = self::container(&pod, container)?;
    let Some(log) = log(call, (namespace, name), &pod, &container, options)? else {
        return Ok(nobody_to_ask());
    };
    let mut cursor = LogCursor::new(log, options);
    if !options.follow && handshake.is_none() {
        return Ok(answer(cursor.now().into()));
    }
    let text: BoxStream<'static, Bytes> = if options.follow {
        let following = FollowedLog {
            cursor,
            watcher: Some(watcher),
            resource: Arc::clone(pods),
            uid: record.uid.to_string(),
            key,
            has_ended: ended(&pod, &container),
            container,
        };
        following.text().boxed()
    } else {
        stream::iter([cursor.now()]).boxed()
    };
    let response = match handshake {
        Some(handshake) => as_messages(handshake, text),
        None => answer(Body::stream(text)),
    };
    Ok(response)
}

fn answer(body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache, private"));
    response
}

/// Answers with a WebSocket that carries the text, in the pieces that upstream reads it in and behind an empty message.
fn as_messages(handshake: Handshake<'_>, text: BoxStream<'static, Bytes>) -> Response<Body> {
    let protocols = Demand::Protocols(&["", "binary.k8s.io", "base64.binary.k8s.io"]);
    let pieces = text.flat_map(|text| {
        let starts = (0..text.len()).step_by(MESSAGE);
        stream::iter(starts.map(move |start| text.slice(start..text.len().min(start + MESSAGE))))
    });
    let messages = stream::iter([Bytes::new()]).chain(pieces);
    websocket::send_all(handshake, protocols, Form::Binary, messages)
}

/// The log that is asked for; `None` if the Pod is not bound to a node yet.
fn log(
    call: &Call<'_>,
    (namespace, name): (&str, &str),
    pod: &Value,
    container: &str,
    options: LogOptions,
) -> Result<Option<Arc<Log>>> {
    let logs = &call.server.logs;
    let node = pod.pointer("/spec/nodeName").and_then(Value::as_str);
    let current = logs.current(namespace, name, container);
    if node.is_none_or(str::is_empty) && current.is_none() {
        return Ok(None);
    }
    let status = status_of(pod, container);
    if options.previous {
        // A container that waits for its restart has only its last run.
        let waits = status.is_some_and(|status| status.pointer("/state/waiting").is_some());
        let previous = match current.filter(|log| waits && log.has_ended()) {
            Some(last) => Some(last),
            None => logs.previous(namespace, name, container),
        };
        // A container without a log may have had a run before, which printed nothing.
        let ran = status.is_some_and(|status| is_named(status.pointer("/lastState/terminated")));
        return match previous {
            Some(log) => Ok(Some(log)),
            None if ran => Ok(Some(Arc::new(Log::silent()))),
            None => Err(Status::bad_request(format!(
                "previous terminated container {} in pod {} not found",
                quote(container),
                quote(name)
            ))),
        };
    }
    if let Some(log) = current {
        return Ok(Some(log));
    }
    // Without a log here, upstream would ask the kubelet of its node.
    let (nodes, node) = (BuiltInId::Nodes.resource(), node.unwrap_or_default());
    if call.server.store.get(nodes.table, node).is_none() {
        return Err(Status::not_found(nodes.about(), node));
    }
    check_started(status, container, name)?;
    Ok(Some(logs.followed(namespace, name, container)))
}

/// The error for the log of a container that has never run, as the kubelet words it.
fn check_started(status: Option<&Value>, container: &str, pod: &str) -> Result<()> {
    let about = format!("container {} in pod {}", quote(container), quote(pod));
    let Some(status) = status else {
        return Err(Status::bad_request(format!("{about} is not available")));
    };
    let at = |path: &str| status.pointer(path).filter(|state| !state.is_null());
    let last = at("/lastState/terminated");
    if at("/state/running").is_some() {
        return Ok(());
    }
    if at("/state/terminated").is_some() || last.is_some() {
        if is_named(at("/state/terminated")) || is_named(last) {
            return Ok(());
        }
        return Err(Status::bad_request(format!("{about} is terminated")));
    }
    let why = match at("/state/waiting") {
        None => "is waiting to start - no logs yet".to_owned(),
        Some(waiting) => match waiting["reason"].as_str().unwrap_or_default() {
            "ErrImagePull" => "is waiting to start: image can't be pulled".to_owned(),
            "ImagePullBackOff" => "is waiting to start: trying and failing to pull image".to_owned(),
            reason => format!("is waiting to start: {reason}"),
        },
    };
    Err(Status::bad_request(format!("{about} {why}")))
}

/// Whether a state is that of a container that has run.
fn is_named(terminated: Option<&Value>) -> bool {
    terminated
        .and_then(|terminated| terminated["containerID"].as_str())
        .is_some_and(|id| !id.is_empty())
}

/// The status of a container.
fn status_of<'a>(pod: &'a Value, container: &str) -> Option<&'a Value> {
    let lists = [
        "containerStatuses",
        "initContainerStatuses",
        "ephemeralContainerStatuses",
    ];
    let statuses = lists
        .iter()
        .filter_map(|list| pod["status"][*list].as_array())
        .flatten();
    statuses.into_iter().find(|status| status["name"] == container)
}

/// Whether a container has ended, so that its log is complete.
fn ended(pod: &Value, container: &str) -> bool {
    let state = status_of(pod, container).map(|status| &status["state"]);
    state.is_some_and(|state| state["running"].is_null() && !state.is_null())
}

fn nobody_to_ask() -> Response<Body> {
    let mut response = respond::text(StatusCode::NO_CONTENT, String::new());
    for header in [header::X_CONTENT_TYPE_OPTIONS, header::CONTENT_TYPE] {
        response.headers_mut().remove(header);
    }
    response
}

/// A log that is followed until the container ends, or its Pod.
struct FollowedLog {
    cursor: LogCursor,
    /// The watcher of the Pod; `None` once it has ended.
    watcher: Option<Watcher>,
    resource: Arc<Resource>,
    uid: String,
    key: String,
    container: String,
    /// Whether the status of the Pod ends the log, because no writer does.
    has_ended: bool,
}

impl FollowedLog {
    fn text(self) -> impl Stream<Item = Bytes> + Send {
        stream::unfold(self, |mut following| async move {
            let text = following.next().await?;
            Some((text, following))
        })
    }

    async fn next(&mut self) -> Option<Bytes> {
        loop {
            // Checked before reading, so that what is written before the end is read.
            let is_over = self.cursor.is_over() || (self.has_ended && !self.cursor.has_writer());
            let text = self.cursor.now();
            if !text.is_empty() {
                return Some(text);
            }
            if is_over {
                return None;
            }
            tokio::select! {
                () = self.cursor.more() => {}
                () = ready(&mut self.watcher) => self.look(),
            }
        }
    }

    /// Reads the changes of the Pod.
    fn look(&mut self) {
        let Some(Ok(batch)) = self.watcher.as_mut().map(|watcher| watcher.try_next(256)) else {
            // The history of the Pod was compacted, so its end will not be seen; a writer still ends its log. A watcher
            // at its end is always ready: it must not be waited for again.
            self.watcher = None;
            self.has_ended = true;
            return;
        };
        let own = batch.events.iter().rfind(|event| event.key() == self.key);
        if let Some(event) = own {
            let pod = object::to_value(&self.resource, &event.record, event.revision);
            let is_other = *event.record.uid != *self.uid || event.kind == kubewright_store::EventKind::Deleted;
            self.has_ended = is_other || ended(&pod, &self.container);
        }
    }
}

/// Waits until a watcher has an event; for ever without one.
async fn ready(watcher: &mut Option<Watcher>) {
    match watcher {
        Some(watcher) => watcher.ready().await,
        None => std::future::pending().await,
    }
}

/// The container that is asked for, or the only one.
pub(super) fn container(pod: &Value, asked: &str) -> Result<String> {
    let names = |list: &str| -> Vec<&str> {
        let containers = pod.pointer(&format!("/spec/{list}")).and_then(Value::as_array);
        let names = containers.into_iter().flatten();
        names.filter_map(|container| container["name"].as_str()).collect()
    };
    let pod_name = meta_text(pod, "name");
    let containers = names("containers");
    if let ("", [only]) = (asked, containers.as_slice()) {
        return Ok((*only).to_owned());
    }
    let all = [names("initContainers"), containers, names("ephemeralContainers")].concat();
    if asked.is_empty() {
        return Err(Status::bad_request(format!(
            "a container name must be specified for pod {pod_name}, choose one of: [{}]",
            all.join(" ")
        )));
    }
    if all.contains(&asked) {
        return Ok(asked.to_owned());
    }
    Err(Status::bad_request(format!(
        "container {asked} is not valid for pod {pod_name}"
    )))
}
