//! Plays one case against a target and records the responses, not yet normalised.

mod credentials;
mod given;
mod kinds;
mod leftovers;
mod pods;
mod stream;
mod websocket;

use std::collections::BTreeMap;
use std::io::Read;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use flate2::read::GzDecoder;
use http::header::{ACCEPT, CONTENT_ENCODING, CONTENT_TYPE, SEC_WEBSOCKET_PROTOCOL, USER_AGENT};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::BodyExt;
use serde_json::{Map, Value, json};
use thiserror::Error;
use tokio::time::{Instant, sleep, timeout};

use crate::case::{CaseFile, CaseStep, ClientFrame, ReadStep, RequestBody, RequestStep, SendStep, Variant};
use crate::extension::{Extension, Extensions};
use crate::kubelet::RunningPod;
use crate::target::{OwnCredentials, StreamingBody, Target, TransportError, Upgraded};
use crate::template::{UndefinedVariable, Variables, fill, fill_known, fill_value};
use crate::webhook::{Script, ScriptError, WebhookServer, WebhookServerError, server as webhook_server};
use stream::Stream;

/// The time limit of a step, longer than a correct server takes.
const PATIENCE: Duration = Duration::from_secs(40);

/// How often a step with `until` asks again.
const POLL: Duration = Duration::from_millis(50);

/// The headers that clients read. Others belong to the transport or to the implementation of a server.
const COMPARED_HEADERS: [&str; 12] = [
    "allow",
    "cache-control",
    "content-encoding",
    "content-type",
    "etag",
    "last-modified",
    "location",
    "retry-after",
    "vary",
    "warning",
    "www-authenticate",
    "x-content-type-options",
];

/// The record of a played case.
#[derive(Debug)]
pub struct PlayedCase {
    /// One value for each step that was reached, in the form of a transcript but with the server's own values.
    pub steps: Vec<Value>,
    /// Why the case could not be played to its end.
    pub failure: Option<String>,
    /// The namespace made for the case.
    pub namespace: String,
    /// The text that made its cluster-scoped names unique.
    pub unique: String,
    /// Addresses and certificates of the webhook process, with their placeholders.
    pub places: Vec<(String, String)>,
}

/// The reason why a step could not be played. A refusal by the *server* is not one: it belongs to the transcript.
#[derive(Debug, Error)]
enum StepError {
    #[error(transparent)]
    Undefined(#[from] UndefinedVariable),
    #[error("{0:?} is not a request line: METHOD /path")]
    RequestLine(String),
    #[error("the request cannot be made from these parts: {0}")]
    Parts(#[from] http::Error),
    #[error("no answer: {0}")]
    Transport(#[source] TransportError),
    #[error("no answer within {} s", PATIENCE.as_secs())]
    Hang,
    #[error("the answer never came to be {0}")]
    Until(Value),
    #[error("nothing to capture as {0}: no {1} in the answer")]
    Capture(String, String),
    #[error("no watch named {0} is open")]
    NoWatch(String),
    #[error("`frame` cannot be read: {0}")]
    ClientFrame(String),
    #[error("the watch named {0} is no WebSocket")]
    NoWebSocket(String),
    #[error("the stream stayed silent after frame {0}")]
    Silent(usize),
    #[error("a frame of the stream is not JSON: {0}")]
    Frame(String),
    #[error("the given {0} was refused: {1}")]
    Given(String, Value),
    #[error("a given object has no apiVersion, kind or name")]
    Nameless,
    #[error("the webhook or policy {0} would be asked about what other cases do: select by `${{ns}}` or `${{unique}}`")]
    Unscoped(String),
    #[error("`by` is neither `nobody` nor a map with a `token` or a `user`: {0}")]
    By(Value),
    #[error("no token at {0} in the answer")]
    Token(String),
    #[error(transparent)]
    Script(#[from] ScriptError),
    #[error("{0}")]
    Extension(String),
    #[error("{0}")]
    Webhooks(&'static WebhookServerError),
}

/// Plays one variant of a file. `run` is different for every run of the corpus on a server.
pub async fn play(target: &dyn Target, file: &CaseFile, variant: &Variant, run: &str) -> PlayedCase {
    let suffix = suffix(&format!("{run}/{}", file.case_id(variant)));
    let mut player = CasePlayer {
        target,
        leaves: leftovers::of(&file.source),
        webhooks: None,
        variant: &variant.variables,
        variables: variant.variables.clone(),
        watches: BTreeMap::new(),
        pods: BTreeMap::new(),
        ports: Arc::new(Extensions::of_pods()),
        namespace: format!("case-{suffix}"),
        unique: format!("unique-{suffix}"),
    };
    let unique = player.unique.clone();
    player.variables.insert("ns".to_owned(), json!(player.namespace));
    player.variables.insert("unique".to_owned(), json!(unique));
    let mut steps = Vec::with_capacity(file.steps.len());
    let failure = match player.prepare(file).await {
        Ok(()) => player.steps(file, &mut steps).await,
        Err(error) => Some(format!("before the first step: {error}")),
    };
    player.give_back().await;
    PlayedCase {
        steps,
        failure,
        places: player.places(),
        namespace: player.namespace,
        unique,
    }
}

/// Eight characters that are valid in any Kubernetes name. Their number is fixed, so that length limits act the same in every run.
pub(crate) fn suffix(seed: &str) -> String {
    const DIGITS: &[u8; 32] = b"bcdfghjklmnpqrstvwxz0123456789aeu"
        .first_chunk()
        .expect("there are more than thirty-two");
    let mut hash = seed.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let mut text = String::from("x");
    for _ in 0..7 {
        text.push(char::from(DIGITS[(hash >> 59) as usize]));
        hash = hash.rotate_left(9).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
    text
}

struct CasePlayer<'a> {
    target: &'a dyn Target,
    /// The collections in which the case may leave objects that are not in its namespace.
    leaves: Vec<String>,
    /// The webhook process, if the case has webhooks.
    webhooks: Option<&'static WebhookServer>,
    variant: &'a Variables,
    variables: Variables,
    watches: BTreeMap<String, Stream>,
    /// The Pods whose containers answer, by name.
    pods: BTreeMap<String, RunningPod>,
    /// What their ports answer, by case and `POD.PORT`.
    ports: Arc<Extensions>,
    namespace: String,
    unique: String,
}

impl CasePlayer<'_> {
    async fn prepare(&mut self, file: &CaseFile) -> Result<(), StepError> {
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self.namespace}});
        self.create("/api/v1/namespaces".to_owned(), &namespace).await?;
        for (name, value) in &file.names {
            self.variables.entry(name.clone()).or_insert_with(|| value.clone());
        }
        if file.calls_webhooks() {
            let webhooks = webhook_server().map_err(StepError::Webhooks)?;
            self.variables.extend(webhooks.variables(&self.unique));
            let scripts = fill_value(&file.webhooks, &self.variables)?;
            webhooks.open(&self.unique, Script::all(&scripts)?);
            let extensions = fill_value(&file.extensions, &self.variables)?;
            let extensions = Extension::all(&extensions).map_err(StepError::Extension)?;
            webhooks.extensions().open(&self.unique, extensions);
            self.webhooks = Some(webhooks);
        }
        self.run_pods(file).await?;
        let mut settle = None;
        for object in &file.given {
            let object = fill_value(object, &self.variables)?;
            let path = given::collection(&object, &self.namespace).ok_or(StepError::Nameless)?;
            if let Some(webhook) = given::unscoped(&object) {
                return Err(StepError::Unscoped(webhook.to_owned()));
            }
            settle = settle.max(delay(&path));
            self.create(path, &object).await?;
            if object["kind"] == "CustomResourceDefinition" {
                self.served(&object).await?;
            }
            if object["kind"] == "APIService" && !object["spec"]["service"].is_null() {
                self.passed_on(&object).await?;
            }
        }
        if let Some(delay) = settle {
            self.settle(delay).await;
        }
        if let Some(webhooks) = self.webhooks {
            drop(webhooks.calls(&self.unique));
            drop(webhooks.extensions().calls(&self.unique));
        }
        Ok(())
    }

    async fn create(&mut self, path: String, object: &Value) -> Result<(), StepError> {
        let request = Request::post(path)
            .header(CONTENT_TYPE, "application/json")
            .header(USER_AGENT, "given");
        let answer = self.send(request.body(Bytes::from(object.to_string()))?).await?;
        if answer.status().is_success() {
            return Ok(());
        }
        let refusal = content(answer).await?;
        Err(StepError::Given(
            format!("{} {}", object["kind"], object["metadata"]["name"]),
            refusal["body"].clone(),
        ))
    }

    /// Waits until a write is in effect.
    async fn settle(&mut self, delay: Delay) {
        let within = self.target.takes_effect_within();
        if !within.is_zero() {
            sleep(match delay {
                Delay::Informers => within,
                Delay::Policies => within * POLICY_DELAYS,
            })
            .await;
        }
    }

    /// Deletes the case's Services, since a server has a limited number of addresses, and the cluster-scoped objects that the case
    /// created. Errors are ignored, since other cases do not depend on it.
    async fn give_back(&mut self) {
        self.watches.clear();
        self.forget_leftovers().await;
        if let Some(webhooks) = self.webhooks {
            webhooks.close(&self.unique);
            webhooks.extensions().close(&self.unique);
        }
        let path = format!("/api/v1/namespaces/{}/services", self.namespace);
        if let Ok(request) = Request::delete(path).header(USER_AGENT, "given").body(Bytes::new())
            && let Ok(answer) = self.send(request).await
        {
            drop(content(answer).await);
        }
    }

    async fn steps(&mut self, file: &CaseFile, noted: &mut Vec<Value>) -> Option<String> {
        for (index, step) in file.steps.iter().enumerate() {
            let result = match step {
                CaseStep::Request(step) => self.request(step, noted).await,
                CaseStep::Read(step) => self.read(step, noted).await,
                CaseStep::Send(step) => self.send_frame(step, noted).await,
                CaseStep::Compact => self.compact(noted).await,
            };
            if let Err(error) = result {
                return Some(format!("step {}: {error}", index + 1));
            }
        }
        None
    }

    async fn request(&mut self, step: &RequestStep, noted: &mut Vec<Value>) -> Result<(), StepError> {
        let deadline = Instant::now() + PATIENCE;
        let mut note = self.ask(step).await?;
        let mut reached = self.reached(step, &note)?;
        while !reached && Instant::now() < deadline {
            sleep(POLL).await;
            note = self.ask(step).await?;
            reached = self.reached(step, &note)?;
        }
        let body = note.get("body").cloned().unwrap_or(Value::Null);
        if !step.only.is_empty() {
            let only: Result<Vec<_>, _> = step.only.iter().map(|place| fill(place, &self.variables)).collect();
            note["body"] = picked(&body, &only?);
        }
        let mut calls = self.ports.calls(&self.unique);
        if let Some(webhooks) = self.webhooks {
            calls.append(&mut webhooks.calls(&self.unique));
            calls.append(&mut webhooks.extensions().calls(&self.unique));
        }
        if !calls.is_empty() {
            note["calls"] = Value::Array(calls);
        }
        if let Some(pointer) = &step.claims {
            note["claims"] = credentials::claims(&body, pointer)?;
        }
        noted.push(omitting(note, &step.omit));
        let line = fill(&step.request, &self.variables)?;
        let written = delay(&line).filter(|_| !line.starts_with("GET"));
        if let Some(delay) = written.max(step.settle.then_some(Delay::Informers)) {
            self.settle(delay).await;
        }
        if !reached {
            return Err(StepError::Until(json!(step.until)));
        }
        self.capture(&step.capture, &body)
    }

    /// Whether the response is the one that the step waits for.
    fn reached(&self, step: &RequestStep, note: &Value) -> Result<bool, StepError> {
        for (pointer, wanted) in &step.until {
            let pointer = fill(pointer, &self.variables)?;
            let wanted = fill_value(wanted, &self.variables)?;
            if found(note, &pointer).unwrap_or(&Value::Null) != &wanted {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Sends the request once and records the whole response.
    async fn ask(&mut self, step: &RequestStep) -> Result<Value, StepError> {
        let request = self.build(step)?;
        let (answer, connection) = if step.websocket {
            self.upgrade(request).await?
        } else {
            (self.send(request).await?, None)
        };
        let mut note = Map::new();
        if let Some(watch) = &step.watch {
            note.insert("watch".to_owned(), json!(watch));
        }
        note.insert("request".to_owned(), json!(fill_known(&step.request, self.variant)));
        note.insert("status".to_owned(), json!(answer.status().as_u16()));
        let more: &[&str] = if step.websocket {
            &websocket::COMPARED_HEADERS
        } else {
            &[]
        };
        note.insert("headers".to_owned(), compared(answer.headers(), more));
        if step.audit {
            let id = answer.headers().get("audit-id").and_then(|id| id.to_str().ok());
            let annotations = self.target.audit_annotations(id.unwrap_or_default()).await;
            let annotations = annotations.map_err(StepError::Transport)?.into_iter();
            let annotations = annotations.filter(|(key, _)| !NOT_NOTED.iter().any(|prefix| key.starts_with(prefix)));
            let lines: Vec<String> = annotations.map(|(key, value)| format!("{key}: {value}")).collect();
            note.insert("audit".to_owned(), json!(lines));
        }
        let mut captured = Vec::new();
        for (variable, place) in &step.capture {
            if let Some(name) = place.strip_prefix("header:") {
                let value = answer.headers().get(name).and_then(|value| value.to_str().ok());
                let value = value.ok_or_else(|| StepError::Capture(variable.clone(), place.clone()))?;
                captured.push((variable.clone(), json!(value)));
            }
        }
        self.variables.extend(captured);
        match (&step.watch, connection) {
            (Some(watch), Some(connection)) => {
                let protocol = answer.headers().get(SEC_WEBSOCKET_PROTOCOL);
                let protocol = protocol.and_then(|protocol| protocol.to_str().ok()).unwrap_or_default();
                self.watches
                    .insert(watch.clone(), Stream::over_websocket(connection, protocol));
            }
            (Some(watch), None) if answer.status() == StatusCode::OK => {
                self.watches.insert(watch.clone(), Stream::new(answer.into_body()));
            }
            _ => note.append(&mut into_map(content(answer).await?)),
        }
        Ok(Value::Object(note))
    }

    async fn read(&mut self, step: &ReadStep, noted: &mut Vec<Value>) -> Result<(), StepError> {
        let stream = self
            .watches
            .get_mut(&step.read)
            .ok_or_else(|| StepError::NoWatch(step.read.clone()))?;
        let mut frames = Vec::new();
        let ended = stream.read(step.until, PATIENCE, &mut frames).await;
        let frames = Value::Array(frames);
        let mut note = json!({"read": step.read, "frames": frames});
        if let Ok(true) = ended {
            note["closed"] = json!(true);
        }
        noted.push(omitting(note, &step.omit));
        ended?;
        self.capture(&step.capture, &frames)
    }

    async fn send_frame(&mut self, step: &SendStep, noted: &mut Vec<Value>) -> Result<(), StepError> {
        let frame = fill_value(&step.frame, &self.variables)?;
        let frame: ClientFrame =
            serde_json::from_value(frame).map_err(|error| StepError::ClientFrame(error.to_string()))?;
        let stream = self.watches.get_mut(&step.send);
        let stream = stream.ok_or_else(|| StepError::NoWatch(step.send.clone()))?;
        let sent = stream.send(&frame).await;
        if !sent.map_err(|error| StepError::Transport(error.into()))? {
            return Err(StepError::NoWebSocket(step.send.clone()));
        }
        noted.push(json!({"send": step.send, "opcode": frame.opcode}));
        Ok(())
    }

    async fn compact(&mut self, noted: &mut Vec<Value>) -> Result<(), StepError> {
        match timeout(PATIENCE, self.target.compact()).await {
            Ok(done) => done.map_err(StepError::Transport)?,
            Err(_) => return Err(StepError::Hang),
        }
        noted.push(json!({"compact": true}));
        Ok(())
    }

    fn capture(&mut self, captures: &BTreeMap<String, String>, document: &Value) -> Result<(), StepError> {
        for (variable, pointer) in captures.iter().filter(|(_, place)| !place.starts_with("header:")) {
            let missing = || StepError::Capture(variable.clone(), pointer.clone());
            let value = document.pointer(pointer).ok_or_else(missing)?;
            self.variables.insert(variable.clone(), value.clone());
        }
        Ok(())
    }

    fn build(&self, step: &RequestStep) -> Result<Request<Bytes>, StepError> {
        let line = fill(&step.request, &self.variables)?;
        let (method, path) = line
            .split_once(' ')
            .ok_or_else(|| StepError::RequestLine(line.clone()))?;
        let method = Method::from_bytes(method.as_bytes()).map_err(http::Error::from)?;
        let mut headers = HeaderMap::new();
        headers.insert(USER_AGENT, HeaderValue::from_static("conformance/1"));
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        let body = match &step.body {
            RequestBody::Empty => Bytes::new(),
            RequestBody::Json(value, content_type) => match fill_value(value, &self.variables)? {
                // Null is no body, so that a row of a matrix can leave the body out.
                Value::Null => Bytes::new(),
                value => {
                    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
                    Bytes::from(value.to_string())
                }
            },
            RequestBody::Text(text, content_type) => {
                headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
                Bytes::from(fill(text, &self.variables)?)
            }
            RequestBody::Bytes(bytes, content_type) => {
                headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
                Bytes::copy_from_slice(bytes)
            }
        };
        if step.websocket {
            headers.extend(websocket::handshake());
        }
        for (name, value) in &step.headers {
            let name = HeaderName::from_bytes(name.as_bytes()).map_err(http::Error::from)?;
            let value = fill(value, &self.variables)?;
            // An empty value removes a header that would be sent otherwise.
            if value.is_empty() {
                headers.remove(name);
            } else {
                headers.insert(name, HeaderValue::try_from(value).map_err(http::Error::from)?);
            }
        }
        let own = credentials::add(&mut headers, step.by.as_ref(), &self.variables)?;
        let mut request = Request::builder().method(method).uri(escaped(path)).body(body)?;
        *request.headers_mut() = headers;
        if own {
            request.extensions_mut().insert(OwnCredentials);
        }
        Ok(request)
    }

    async fn upgrade(&mut self, request: Request<Bytes>) -> Result<Upgraded, StepError> {
        match timeout(PATIENCE, self.target.upgrade(request)).await {
            Ok(answer) => answer.map_err(StepError::Transport),
            Err(_) => Err(StepError::Hang),
        }
    }

    async fn send(&mut self, request: Request<Bytes>) -> Result<Response<StreamingBody>, StepError> {
        match timeout(PATIENCE, self.target.send(request)).await {
            Ok(answer) => answer.map_err(StepError::Transport),
            Err(_) => Err(StepError::Hang),
        }
    }
}

/// What the real server acts on only after its informers have seen it.
const SEEN_LATER: [&str; 8] = [
    "admissionregistration.k8s.io",
    "rbac.authorization.k8s.io",
    "/limitranges",
    "/resourcequotas",
    "/runtimeclasses",
    "/storageclasses",
    "/ingressclasses",
    "/priorityclasses",
];

/// How many times longer than webhooks and roles admission policies take on the real server, which looks for new ones every second.
const POLICY_DELAYS: u32 = 7;

/// Why the real server acts on a write only after it has answered it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Delay {
    /// Its informers have to see the object.
    Informers,
    /// Admission policies are read again every second.
    Policies,
}

/// How long the real server may take to act on what a request writes; `None` if the write is in effect with its answer.
fn delay(request: &str) -> Option<Delay> {
    let names = |part: &str| request.contains(part);
    if names("admissionpolic") {
        Some(Delay::Policies)
    } else if SEEN_LATER.into_iter().any(names) {
        Some(Delay::Informers)
    } else {
        None
    }
}

/// Escapes the characters of a path that a URI may not contain. Case files have paths without escapes.
fn escaped(path: &str) -> String {
    let escape = |byte: u8| match byte {
        b' ' | b'"' | b'<' | b'>' | b'\\' | b'^' | b'`' | b'{' | b'|' | b'}' | 0..=31 | 127.. => format!("%{byte:02X}"),
        plain => char::from(plain).to_string(),
    };
    path.bytes().map(escape).collect()
}

/// Annotations of audit events that are not compared: who allowed a request, in which words, and how long it took.
const NOT_NOTED: [&str; 2] = ["authorization.k8s.io/", "apiserver.latency.k8s.io/"];

fn compared(headers: &HeaderMap, more: &[&'static str]) -> Value {
    let mut noted = Map::new();
    for name in COMPARED_HEADERS.iter().chain(more).copied() {
        let mut values: Vec<Value> = headers
            .get_all(name)
            .iter()
            .map(|value| json!(String::from_utf8_lossy(value.as_bytes())))
            .collect();
        match values.len() {
            0 => {}
            1 => drop(noted.insert(name.to_owned(), values.remove(0))),
            _ => drop(noted.insert(name.to_owned(), Value::Array(values))),
        }
    }
    if headers.contains_key("audit-id") {
        noted.insert("audit-id".to_owned(), json!("<present>"));
    }
    Value::Object(noted)
}

/// The whole body as `{"body": …}`: as JSON if it is that, otherwise as text. An empty body is left out.
async fn content(answer: Response<StreamingBody>) -> Result<Value, StepError> {
    let zipped = answer
        .headers()
        .get(CONTENT_ENCODING)
        .is_some_and(|encoding| encoding == "gzip");
    let collected = timeout(PATIENCE, answer.into_body().collect())
        .await
        .map_err(|_| StepError::Hang)?;
    let mut bytes = collected.map_err(StepError::Transport)?.to_bytes().to_vec();
    if zipped {
        let mut plain = Vec::new();
        GzDecoder::new(bytes.as_slice())
            .read_to_end(&mut plain)
            .map_err(|error| StepError::Transport(error.into()))?;
        bytes = plain;
    }
    if bytes.is_empty() {
        return Ok(json!({}));
    }
    Ok(match serde_json::from_slice::<Value>(&bytes) {
        Ok(value) => json!({"body": value}),
        Err(_) => json!({"body": String::from_utf8_lossy(&bytes)}),
    })
}

fn into_map(value: Value) -> Map<String, Value> {
    if let Value::Object(map) = value {
        map
    } else {
        Map::new()
    }
}

fn picked(body: &Value, pointers: &[String]) -> Value {
    pointers
        .iter()
        .map(|pointer| (pointer.clone(), found_in_all(body, pointer)))
        .collect()
}

/// The value at a pointer. `*` stands for every element of a list and makes the value a list.
fn found_in_all(document: &Value, pointer: &str) -> Value {
    match pointer.split_once("/*") {
        None => found(document, pointer).cloned().unwrap_or(Value::Null),
        Some((list, rest)) => {
            let items = found(document, list).and_then(Value::as_array).into_iter().flatten();
            items.map(|item| found_in_all(item, rest)).collect()
        }
    }
}

/// The value at a JSON pointer. In a list, `metadata.name=x` is the element that has this value there, for lists whose order or
/// length is not known.
fn found<'a>(document: &'a Value, pointer: &str) -> Option<&'a Value> {
    let Some(path) = pointer.strip_prefix('/') else {
        return pointer.is_empty().then_some(document);
    };
    path.split('/').try_fold(document, |value, segment| {
        let segment = segment.replace("~1", "/").replace("~0", "~");
        match (value, segment.split_once('=')) {
            (Value::Array(items), Some((place, wanted))) => items.iter().find(|item| {
                let there = place.split('.').try_fold(*item, |item, field| item.get(field));
                there.is_some_and(|there| there == wanted)
            }),
            (Value::Array(items), None) => items.get(segment.parse::<usize>().ok()?),
            (value, _) => value.get(&segment),
        }
    })
}

fn omitting(mut note: Value, pointers: &[String]) -> Value {
    for pointer in pointers {
        if let Some(value) = note.pointer_mut(pointer) {
            *value = json!("<omitted>");
        }
    }
    note
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suffixes_are_names_of_one_length_that_differ_by_run() {
        let (one, other) = (suffix("1/lists/a"), suffix("2/lists/a"));
        assert_ne!(one, other);
        assert_eq!((one.len(), other.len()), (8, 8));
        assert!(
            one.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit()),
            "{one}"
        );
    }

    #[test]
    fn a_pointer_finds_an_element_by_what_it_holds() {
        let groups = json!({"items": [{"metadata": {"name": "a"}}, {"metadata": {"name": "b"}, "versions": [1, 2]}]});
        assert_eq!(found(&groups, "/items/metadata.name=b/versions/1"), Some(&json!(2)));
        assert_eq!(found(&groups, "/items/metadata.name=c"), None);
        assert_eq!(found(&groups, ""), Some(&groups));
        assert_eq!(found_in_all(&groups, "/items/*/metadata/name"), json!(["a", "b"]));
    }

    #[test]
    fn paths_are_escaped_as_far_as_a_uri_demands() {
        assert_eq!(
            escaped("/a?labelSelector=x in (b,c)"),
            "/a?labelSelector=x%20in%20(b,c)"
        );
    }
}
