//! Plays one case against a target and records the responses, not yet normalised.

mod answer;
mod credentials;
mod delay;
mod error;
mod given;
mod kinds;
mod leftovers;
mod pods;
mod pointers;
mod request;
mod stream;
mod websocket;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, SEC_WEBSOCKET_PROTOCOL, USER_AGENT};
use http::{Request, Response, StatusCode};
use serde_json::{Map, Value, json};
use tokio::time::{Instant, sleep, timeout};

use crate::case::{CaseFile, CaseStep, ClientFrame, ReadStep, RequestStep, SendStep, Variant};
use crate::extension::{Extension, Extensions};
use crate::kubelet::RunningPod;
use crate::target::{StreamingBody, Target, Upgraded};
use crate::template::{Variables, fill, fill_known, fill_value};
use crate::webhook::{Script, WebhookServer, server as webhook_server};
use answer::{compared, content, into_map};
use delay::{Delay, POLICY_DELAYS, delay};
use error::StepError;
use pointers::{found, omitting, picked};
use stream::Stream;

/// The time limit of a step, longer than a correct server takes.
const PATIENCE: Duration = Duration::from_secs(40);

/// How often a step with `until` asks again.
const POLL: Duration = Duration::from_millis(50);

/// The record of a played case.
#[derive(Clone, Debug)]
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

/// How the names of namespaces of cases begin.
pub const NAMESPACES: &str = "case-";

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
        namespace: format!("{NAMESPACES}{suffix}"),
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

/// Annotations of audit events that are not compared: who allowed a request, in which words, and how long it took.
const NOT_NOTED: [&str; 2] = ["authorization.k8s.io/", "apiserver.latency.k8s.io/"];

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
}
