//! A case file: a title, the behaviour ids it covers, and HTTP steps. A file with a matrix has several cases.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::prelude::BASE64_STANDARD as BASE64;
use serde::Deserialize;
use serde_json::{Map, Value};
use thiserror::Error;

use crate::template::Variables;

/// The plugins that cases with `plugins: every` want in addition to those of other cases; `upstream/start` has the same list.
pub const EVERY_PLUGIN: [&str; 12] = [
    "NamespaceAutoProvision",
    "NamespaceExists",
    "LimitPodHardAntiAffinityTopology",
    "ServiceAccount",
    "NodeRestriction",
    "AlwaysPullImages",
    "PodNodeSelector",
    "OwnerReferencesPermissionEnforcement",
    "DenyServiceExternalIPs",
    "EventRateLimit",
    "ExtendedResourceToleration",
    "PodTolerationRestriction",
];

/// A parsed file of `cases/`.
#[derive(Clone, Debug)]
pub struct CaseFile {
    /// The path of the file.
    pub path: PathBuf,
    /// `area/sentence-like-name`.
    pub id: String,
    /// The text of the file. Normalisation leaves values alone that occur in it, since the server did not make them up.
    pub source: String,
    /// The sentence it proves.
    pub title: String,
    /// Behaviour ids of `BEHAVIOURS.md`.
    pub covers: Vec<String>,
    /// Named values for the steps; the matrix may override them.
    pub names: BTreeMap<String, Value>,
    /// Objects created, without being recorded, before the first step.
    pub given: Vec<Value>,
    /// The answers of the case's webhooks, by webhook name.
    pub webhooks: Value,
    /// The answers of the case's extension API servers, by name, method and path.
    pub extensions: Value,
    /// Whether it is about a server on which the plugins of [`EVERY_PLUGIN`] are on in addition to the usual ones.
    pub every_plugin: bool,
    /// Whether it changes what other cases get, such as the default class of claims.
    pub alone: bool,
    /// The Pods whose containers answer, by name, and what their ports answer, by name, method and path.
    pub pods: Value,
    /// The recorded steps.
    pub steps: Vec<CaseStep>,
    /// Named sets of variables; a file without a matrix has one unnamed variant.
    pub variants: Vec<Variant>,
}

/// One expansion of a file's matrix.
#[derive(Clone, Debug, Default)]
pub struct Variant {
    /// Its name within the file; empty in a file without a matrix.
    pub name: String,
    /// The values of `${…}`.
    pub variables: Variables,
}

/// One step of a case.
#[derive(Clone, Debug)]
pub enum CaseStep {
    /// Sends a request and waits for the whole response, or opens a watch.
    Request(RequestStep),
    /// Reads frames from an open watch.
    Read(ReadStep),
    /// Sends a frame over an open WebSocket.
    Send(SendStep),
    /// Has the server drop all history up to now, so that old versions and tokens expire.
    Compact,
}

/// A request as it is written in the file, before `${…}` is replaced.
#[derive(Clone, Debug)]
pub struct RequestStep {
    /// `METHOD /path?query`.
    pub request: String,
    /// The name under which later steps read the response as a watch.
    pub watch: Option<String>,
    /// Whether it asks for a WebSocket, with headers that `headers` may override.
    pub websocket: bool,
    /// Extra headers, which override those that the body implies.
    pub headers: BTreeMap<String, String>,
    /// The body.
    pub body: RequestBody,
    /// The user who sends the request; the administrator by default.
    pub by: Option<Value>,
    /// JSON pointer into the response's body to a token whose claims are recorded.
    pub claims: Option<String>,
    /// Whether the annotations of its audit event are recorded.
    pub audit: bool,
    /// Whether the step waits afterwards, because the write takes effect a little later on the real server.
    pub settle: bool,
    /// By variable, the JSON pointer into the response's body, or `header:Name`, that its value is taken from.
    pub capture: BTreeMap<String, String>,
    /// Pointers into the recorded step that are not compared; the file says why.
    pub omit: Vec<String>,
    /// Pointers into the response's body; if there are any, only these parts of it are compared.
    pub only: Vec<String>,
    /// Values by pointer into the recorded response. The request is repeated until all of them are equal, and only the last response
    /// counts.
    /// The real server does some things a little after it answered (names of a new CRD, discovery, `OpenAPI`).
    pub until: BTreeMap<String, Value>,
}

/// The body of a request.
#[derive(Clone, Debug)]
pub enum RequestBody {
    /// Nothing.
    Empty,
    /// A value, sent as JSON under this content type.
    Json(Value, &'static str),
    /// A text, sent unchanged under this content type.
    Text(String, &'static str),
    /// Bytes that need not be text, sent unchanged under this content type.
    Bytes(Vec<u8>, &'static str),
}

/// Sending over an open WebSocket.
#[derive(Clone, Debug)]
pub struct SendStep {
    /// The name of the watch that is a WebSocket.
    pub send: String,
    /// The [`ClientFrame`] that is sent, `${…}` not yet filled in.
    pub frame: Value,
}

/// A frame that a client sends.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClientFrame {
    /// Its number: 0 continuation, 1 text, 2 binary, 8 close, 9 ping, 10 pong. What a channel carries is binary unless it is 1: then it
    /// is in base64.
    #[serde(default = "binary")]
    pub opcode: u8,
    /// The channel, of several over one WebSocket.
    pub channel: Option<u8>,
    /// What it carries.
    #[serde(default)]
    pub payload: String,
    /// How many times it carries that.
    #[serde(default = "once")]
    pub times: usize,
    /// Left out only by clients that break the protocol.
    #[serde(default = "yes")]
    pub masked: bool,
}

fn binary() -> u8 {
    2
}

fn once() -> usize {
    1
}

fn yes() -> bool {
    true
}

/// Reading from an open watch.
#[derive(Clone, Debug)]
pub struct ReadStep {
    /// The watch's name.
    pub read: String,
    /// When to stop.
    pub until: Until,
    /// By variable, the JSON pointer into the array of frames that its value is taken from.
    pub capture: BTreeMap<String, String>,
    /// Pointers into the recorded step that are not compared.
    pub omit: Vec<String>,
}

/// When a reading step ends. No condition depends on time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// After this many frames.
    Frames(usize),
    /// After the first bookmark.
    Bookmark,
    /// When the server ends the stream.
    Closed,
}

/// The reason why a case file cannot be used.
#[derive(Debug, Error)]
pub enum CaseError {
    /// It cannot be read.
    #[error("{} cannot be read", .0.display())]
    Read(PathBuf, #[source] std::io::Error),
    /// It is not YAML of the expected form.
    #[error("{path}: {1}", path = .0.display())]
    Form(PathBuf, yaml_serde::Error),
    /// A step or the matrix is contradictory.
    #[error("{path}: {1}", path = .0.display())]
    Meaning(PathBuf, String),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Form {
    title: String,
    covers: Vec<String>,
    #[serde(default, rename = "let")]
    names: BTreeMap<String, Value>,
    #[serde(default)]
    matrix: Option<Value>,
    #[serde(default)]
    given: Vec<Value>,
    #[serde(default)]
    webhooks: Value,
    #[serde(default)]
    extensions: Value,
    #[serde(default)]
    plugins: Plugins,
    #[serde(default)]
    alone: bool,
    #[serde(default)]
    pods: Value,
    steps: Vec<StepForm>,
}

#[derive(Clone, Copy, Default, Deserialize, PartialEq)]
#[serde(rename_all = "lowercase")]
enum Plugins {
    #[default]
    Usual,
    Every,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "each is a word of the case files")]
struct StepForm {
    request: Option<String>,
    watch: Option<String>,
    #[serde(default)]
    websocket: bool,
    send: Option<String>,
    frame: Option<Value>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    body: Option<Value>,
    text: Option<String>,
    bytes: Option<String>,
    #[serde(rename = "as")]
    content: Option<String>,
    by: Option<Value>,
    claims: Option<String>,
    #[serde(default)]
    audit: bool,
    #[serde(default)]
    settle: bool,
    read: Option<String>,
    #[serde(default)]
    compact: bool,
    frames: Option<usize>,
    until: Option<Value>,
    #[serde(default)]
    capture: BTreeMap<String, String>,
    #[serde(default)]
    omit: Vec<String>,
    #[serde(default)]
    only: Vec<String>,
}

impl CaseFile {
    /// Reads one file; `root` is the `cases` folder its id is relative to.
    pub fn load(root: &Path, path: &Path) -> Result<Self, CaseError> {
        let source = fs::read_to_string(path).map_err(|error| CaseError::Read(path.to_owned(), error))?;
        let id = path.strip_prefix(root).unwrap_or(path).with_extension("");
        Self::parse(path.to_owned(), id.to_string_lossy().replace('\\', "/"), source)
    }

    /// Reads the text of a file with this path and id.
    pub fn parse(path: PathBuf, id: String, source: String) -> Result<Self, CaseError> {
        let form: Form = yaml_serde::from_str(&source).map_err(|error| CaseError::Form(path.clone(), error))?;
        let meaning = |problem: String| CaseError::Meaning(path.clone(), problem);
        let mut steps = Vec::with_capacity(form.steps.len());
        for (index, step) in form.steps.into_iter().enumerate() {
            steps.push(
                step.meaning()
                    .map_err(|problem| meaning(format!("step {}: {problem}", index + 1)))?,
            );
        }
        if form.covers.is_empty() {
            return Err(meaning("`covers` names no behaviour".to_owned()));
        }
        Ok(Self {
            id,
            title: form.title,
            covers: form.covers,
            names: form.names,
            given: form.given,
            webhooks: form.webhooks,
            extensions: form.extensions,
            every_plugin: form.plugins == Plugins::Every,
            alone: form.alone,
            pods: form.pods,
            variants: variants(form.matrix).map_err(meaning)?,
            steps,
            source,
            path,
        })
    }

    /// The id of one of its cases.
    pub fn case_id(&self, variant: &Variant) -> String {
        if variant.name.is_empty() {
            self.id.clone()
        } else {
            format!("{}: {}", self.id, variant.name)
        }
    }

    /// Whether it needs a server of its own because it would disturb other cases.
    pub fn needs_own_server(&self) -> bool {
        self.alone || self.steps.iter().any(|step| matches!(step, CaseStep::Compact))
    }

    /// Whether the server calls a webhook or an extension API server, which takes real time even if the server's clock is paused.
    pub fn calls_webhooks(&self) -> bool {
        !self.webhooks.is_null() || !self.extensions.is_null()
    }

    /// The path of its recording.
    pub fn recording(&self) -> PathBuf {
        self.path.with_extension("recorded.json")
    }

    /// A hash of the text, by which a recording of an older text is recognised.
    pub fn fingerprint(&self) -> String {
        let hash = self.source.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        format!("{hash:016x}")
    }
}

impl StepForm {
    fn meaning(self) -> Result<CaseStep, String> {
        if self.compact {
            let alone = self.request.is_none() && self.read.is_none();
            return if alone {
                Ok(CaseStep::Compact)
            } else {
                Err("`compact` is a step of its own".to_owned())
            };
        }
        if let Some(send) = self.send {
            let alone = self.request.is_none() && self.read.is_none();
            return match self.frame {
                Some(frame) if alone => Ok(CaseStep::Send(SendStep { send, frame })),
                _ => Err("`send` is a step of its own, with a `frame`".to_owned()),
            };
        }
        match (self.request, self.read) {
            (Some(request), None) => {
                if self.frames.is_some() {
                    return Err("`frames` belongs to a `read` step".to_owned());
                }
                let until = match self.until {
                    None => BTreeMap::new(),
                    Some(Value::Object(wanted)) if self.watch.is_none() => wanted.into_iter().collect(),
                    Some(_) => {
                        return Err("`until` of a request maps pointers into its answer to values".to_owned());
                    }
                };
                Ok(CaseStep::Request(RequestStep {
                    request,
                    watch: self.watch,
                    websocket: self.websocket,
                    headers: self.headers,
                    body: body(self.body, self.text, self.bytes, self.content.as_deref())?,
                    by: self.by,
                    claims: self.claims,
                    audit: self.audit,
                    settle: self.settle,
                    capture: self.capture,
                    omit: self.omit,
                    only: self.only,
                    until,
                }))
            }
            (None, Some(read)) => {
                let until = match (self.frames, self.until.as_ref().and_then(Value::as_str)) {
                    (Some(count), None) => Until::Frames(count),
                    (None, Some("bookmark")) => Until::Bookmark,
                    (None, Some("closed")) => Until::Closed,
                    _ => return Err("a `read` step has either `frames: N` or `until: bookmark|closed`".to_owned()),
                };
                Ok(CaseStep::Read(ReadStep {
                    read,
                    until,
                    capture: self.capture,
                    omit: self.omit,
                }))
            }
            _ => Err("a step has one of `request`, `read`, `send` and `compact`".to_owned()),
        }
    }
}

fn body(
    value: Option<Value>,
    text: Option<String>,
    bytes: Option<String>,
    content: Option<&str>,
) -> Result<RequestBody, String> {
    let content_type = match content {
        None | Some("json") => "application/json",
        Some("yaml") => "application/yaml",
        Some("json-patch") => "application/json-patch+json",
        Some("merge-patch") => "application/merge-patch+json",
        Some("strategic-patch") => "application/strategic-merge-patch+json",
        Some("apply") => "application/apply-patch+yaml",
        Some(other) => {
            return Err(format!(
                "`as: {other}` is none of json, yaml, json-patch, merge-patch, strategic-patch, apply"
            ));
        }
    };
    match (value, text, bytes) {
        (Some(value), None, None) => Ok(RequestBody::Json(value, content_type)),
        (None, Some(text), None) => Ok(RequestBody::Text(text, content_type)),
        (None, None, Some(bytes)) => match BASE64.decode(&bytes) {
            Ok(bytes) => Ok(RequestBody::Bytes(bytes, content_type)),
            Err(error) => Err(format!("`bytes` is not base64: {error}")),
        },
        (None, None, None) => Ok(RequestBody::Empty),
        _ => Err("a step has one of `body`, `text` and `bytes`".to_owned()),
    }
}

/// A list holds one map of variables per variant, named by its `case`; a map of lists expands to their product.
fn variants(matrix: Option<Value>) -> Result<Vec<Variant>, String> {
    let variants = match matrix {
        None => vec![Variant::default()],
        Some(Value::Array(rows)) => rows.into_iter().map(row).collect::<Result<_, _>>()?,
        Some(Value::Object(axes)) => product(axes)?,
        Some(_) => return Err("`matrix` is a list of variants or a map of lists".to_owned()),
    };
    if variants.is_empty() {
        return Err("`matrix` has no variants".to_owned());
    }
    let mut names: Vec<_> = variants.iter().map(|variant: &Variant| &variant.name).collect();
    names.sort();
    names.dedup();
    if names.len() < variants.len() {
        return Err("two variants of the `matrix` have the same name".to_owned());
    }
    Ok(variants)
}

fn row(row: Value) -> Result<Variant, String> {
    let Value::Object(mut fields) = row else {
        return Err("a variant of the `matrix` is a map".to_owned());
    };
    match fields.remove("case") {
        Some(Value::String(name)) => Ok(Variant {
            name,
            variables: fields.into_iter().collect(),
        }),
        _ => Err("a variant of the `matrix` has a `case` that names it".to_owned()),
    }
}

fn product(axes: Map<String, Value>) -> Result<Vec<Variant>, String> {
    let mut variants = vec![Variant::default()];
    for (axis, values) in axes {
        let Value::Array(values) = values else {
            return Err(format!("`matrix` axis {axis} is not a list"));
        };
        variants = variants
            .iter()
            .flat_map(|variant| values.iter().map(|value| with_axis(variant, &axis, value)))
            .collect();
    }
    Ok(variants)
}

fn with_axis(variant: &Variant, axis: &str, value: &Value) -> Variant {
    let mut extended = variant.clone();
    let shown = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let shown = shown.replace("${", "").replace('}', "");
    let part = if shown.is_empty() {
        format!("no {axis}")
    } else {
        format!("{axis} {shown}")
    };
    if !extended.name.is_empty() {
        extended.name.push_str(", ");
    }
    extended.name.push_str(&part);
    extended.variables.insert(axis.to_owned(), value.clone());
    extended
}
