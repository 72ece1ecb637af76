//! Extension API servers of cases: what each answers, by method and path, and what it was asked.
//!
//! They share the listener of the webhooks: a server that aggregates APIs asks for `NAME.NAMESPACE.svc` in its TLS handshake, which
//! names the Service, and with the namespace the case. What is asked on behalf of users is noted; the questions of the aggregator
//! itself, which come whenever it likes, are only answered.

mod answer;

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use http::request::Parts;
use http::uri::PathAndQuery;
use serde::Deserialize;
use serde_json::{Map, Value, json};

pub use answer::AnswerBody;
pub(crate) use answer::answer;

/// The users as whom an aggregator asks for itself.
const AGGREGATOR: [&str; 2] = ["system:kube-aggregator", "system:aggregator"];

/// How names of extensions end that offer HTTP/2.
const HTTP2: &str = "-http2";

/// Whether HTTP/2 is offered in this name.
pub(crate) fn offers_http2(server_name: &str) -> bool {
    server_name.split('.').next().is_some_and(|name| name.ends_with(HTTP2))
}

/// Headers that depend on the connection, or on the client of the aggregator.
const LEFT_OUT: [&str; 5] = [
    "accept-encoding",
    "content-length",
    "traceparent",
    "tracestate",
    "sec-websocket-key",
];

/// What an extension API server answers, by `METHOD /path`; each one for all requests, or a list whose last element goes on.
#[derive(Clone, Debug, Default)]
pub struct Extension {
    replies: BTreeMap<String, Vec<Reply>>,
    asked: BTreeMap<String, usize>,
}

/// One answer.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a key of a case file")]
pub(crate) struct Reply {
    /// The HTTP status; 200 by default.
    pub(crate) status: Option<u16>,
    /// Headers. A body in JSON has its content type.
    pub(crate) headers: BTreeMap<String, String>,
    /// A body in JSON.
    pub(crate) body: Option<Value>,
    /// A body to the letter.
    pub(crate) text: Option<String>,
    /// How many times that.
    pub(crate) times: Option<usize>,
    /// Lines in JSON, each sent by itself; the response does not end unless `ends` says so.
    pub(crate) frames: Option<Vec<Value>>,
    /// Whether a response with frames ends.
    pub(crate) ends: bool,
    /// Answers with what was asked: method, path and body.
    pub(crate) echo: bool,
    /// Never answers.
    pub(crate) hang: bool,
    /// Closes the connection without an answer.
    pub(crate) close: bool,
    /// Closes the connection in the middle of the body.
    pub(crate) cut: bool,
    /// Agrees to this protocol, and sends back every byte.
    pub(crate) upgrade: Option<String>,
}

/// The extension API servers of the running cases, by case and name.
#[derive(Default)]
pub struct Extensions {
    servers: Mutex<BTreeMap<(String, String), CaseExtension>>,
    /// Whether the host that was asked for is not noted: a Pod hears that of the API server, which is different in every run.
    omits_host: bool,
}

#[derive(Default)]
struct CaseExtension {
    extension: Extension,
    calls: Vec<Value>,
}

impl Extension {
    /// Reads the `extensions` of a case, whose variables have been replaced.
    pub fn all(extensions: &Value) -> Result<BTreeMap<String, Extension>, String> {
        let mut all = BTreeMap::new();
        for (name, routes) in extensions.as_object().into_iter().flatten() {
            let mut extension = Extension::default();
            for (route, form) in routes.as_object().into_iter().flatten() {
                let forms = match form {
                    Value::Array(forms) => forms.as_slice(),
                    one => std::slice::from_ref(one),
                };
                let replies: Result<Vec<Reply>, _> = forms.iter().map(Reply::deserialize).collect();
                let replies =
                    replies.map_err(|error| format!("the extension {name} makes no sense: {route}: {error}"))?;
                extension.replies.insert(route.clone(), replies);
            }
            all.insert(name.clone(), extension);
        }
        Ok(all)
    }

    fn next(&mut self, method: &str, path: &str) -> Option<Reply> {
        let route = format!("{method} {path}");
        let replies = self.replies.get(&route)?;
        let asked = self.asked.entry(route).or_default();
        let reply = replies.get((*asked).min(replies.len().saturating_sub(1)))?.clone();
        *asked += 1;
        Some(reply)
    }
}

impl Extensions {
    fn all(&self) -> MutexGuard<'_, BTreeMap<(String, String), CaseExtension>> {
        self.servers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Those that are ports of Pods.
    pub(crate) fn of_pods() -> Self {
        Extensions {
            omits_host: true,
            ..Extensions::default()
        }
    }

    /// Adds the servers of a case.
    pub fn open(&self, case: &str, extensions: BTreeMap<String, Extension>) {
        let mut all = self.all();
        for (name, extension) in extensions {
            let extension = CaseExtension {
                extension,
                calls: Vec::new(),
            };
            all.insert((case.to_owned(), name), extension);
        }
    }

    /// Removes the servers of a case.
    pub fn close(&self, case: &str) {
        self.all().retain(|(of, _), _| of != case);
    }

    /// Takes what was noted.
    pub fn calls(&self, case: &str) -> Vec<Value> {
        let mut all = self.all();
        let of_case = all.iter_mut().filter(|((of, _), _)| of == case);
        of_case
            .flat_map(|(_, extension)| std::mem::take(&mut extension.calls))
            .collect()
    }

    /// The case and the name that a TLS server name stands for, if a running case has such a server.
    pub(crate) fn named(&self, server_name: &str) -> Option<(String, String)> {
        let (name, rest) = server_name.strip_suffix(".svc")?.split_once('.')?;
        let case = rest.strip_prefix("case-")?;
        let key = (format!("unique-{case}"), name.to_owned());
        self.all().contains_key(&key).then_some(key)
    }

    /// Notes a request, and says what answers it.
    pub(crate) fn asked(&self, key: &(String, String), parts: &Parts, certificate: Option<&str>, body: &[u8]) -> Reply {
        let mut all = self.all();
        let Some(extension) = all.get_mut(key) else {
            return Reply {
                close: true,
                ..Reply::default()
            };
        };
        let user = parts.headers.get("x-remote-user").and_then(|user| user.to_str().ok());
        if !user.is_some_and(|user| AGGREGATOR.contains(&user)) {
            let mut note = noted(parts, certificate, body);
            if self.omits_host
                && let Some(headers) = note["headers"].as_object_mut()
            {
                headers.remove("host");
            }
            extension.calls.push(note);
        }
        let (method, path) = (parts.method.as_str(), parts.uri.path());
        let scripted = extension.extension.next(method, path);
        scripted.unwrap_or_else(|| by_default(method, path))
    }
}

/// What a server says that the case does not: a version of a group has widgets, and there is nothing else.
fn by_default(method: &str, path: &str) -> Reply {
    let segments: Vec<&str> = path.trim_start_matches('/').split('/').collect();
    if let ("GET", ["apis", group, version]) = (method, segments.as_slice()) {
        return Reply {
            body: Some(json!({
                "kind": "APIResourceList",
                "apiVersion": "v1",
                "groupVersion": format!("{group}/{version}"),
                "resources": [{
                    "name": "widgets", "singularName": "widget", "namespaced": true, "kind": "Widget",
                    "verbs": ["create", "delete", "get", "list", "watch"],
                }],
            })),
            ..Reply::default()
        };
    }
    Reply {
        status: Some(404),
        text: Some("404 page not found\n".to_owned()),
        headers: BTreeMap::from([("Content-Type".to_owned(), "text/plain; charset=utf-8".to_owned())]),
        ..Reply::default()
    }
}

fn noted(parts: &Parts, certificate: Option<&str>, body: &[u8]) -> Value {
    let mut headers = Map::new();
    for name in parts.headers.keys() {
        if LEFT_OUT.contains(&name.as_str()) {
            continue;
        }
        let values: Vec<String> = parts
            .headers
            .get_all(name)
            .iter()
            .map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned())
            .collect();
        let text = if name == "audit-id" {
            "<audit-id>".to_owned()
        } else {
            values.join(", ")
        };
        headers.insert(name.to_string(), json!(text));
    }
    let body = serde_json::from_slice(body).unwrap_or_else(|_| json!(String::from_utf8_lossy(body)));
    let target = parts.uri.path_and_query().map_or("/", PathAndQuery::as_str);
    let mut note = json!({
        "call": format!("{} {target}", parts.method),
        "certificate": certificate,
        "headers": headers,
        "body": body,
    });
    if parts.version == http::Version::HTTP_2 {
        note["protocol"] = json!("HTTP/2");
        note["authority"] = json!(parts.uri.authority().map(ToString::to_string));
    }
    note
}
