//! The audit log: a line for each stage of a request, as upstream writes them (`audit.k8s.io/v1`).

use std::fmt::Write as _;
use std::net::IpAddr;
use std::sync::Arc;

use http::header::USER_AGENT;
use jiff::Timestamp;
use kubewright_apimachinery::go::quote;
use kubewright_schema::TypeRef;
use kubewright_system::clock::Clock;
use parking_lot::Mutex;
use serde_json::{Map, Value, json};

use super::policy::{AuditLevel, AuditPolicy, AuditStage, RequestAudit};
use super::{AccessOutcome, AuditDraft};
use crate::access::User;
use crate::object::meta_text;
use crate::registry::Subresource;
use crate::request::RequestHead;
use crate::transport::ClientAddress;

const LONGEST_USER_AGENT: usize = 1024;

/// How the lines of an audit log look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AuditLogFormat {
    /// An event of `audit.k8s.io/v1` as JSON.
    #[default]
    Json,
    /// Words of one line.
    Legacy,
}

/// Where and how requests are logged.
#[derive(Clone)]
pub(crate) struct AuditLog {
    pub(crate) policy: Arc<AuditPolicy>,
    pub(crate) format: AuditLogFormat,
    pub(crate) write: Arc<dyn Fn(&str) + Send + Sync>,
}

/// A request that is logged.
pub(crate) struct LoggedRequest {
    log: AuditLog,
    audit: RequestAudit,
    clock: Clock,
    received: Timestamp,
    id: String,
    uri: String,
    verb: String,
    user: Option<Arc<User>>,
    addresses: Vec<String>,
    user_agent: String,
    /// Whether the answer is logged when it begins and when it ends.
    is_long_running: bool,
    rest: Mutex<Rest>,
}

/// What is known of a request after it was received.
#[derive(Default)]
struct Rest {
    object: Map<String, Value>,
    is_resource: bool,
    impersonated: Option<(Arc<User>, String)>,
    annotations: Map<String, Value>,
    status: Option<Map<String, Value>>,
    request: Option<Value>,
    response: Option<Value>,
}

impl LoggedRequest {
    /// Begins to log a request, unless the policy says not to.
    pub(super) fn begin(
        log: &AuditLog,
        clock: &Clock,
        draft: &AuditDraft,
        head: &RequestHead<'_>,
    ) -> Option<LoggedRequest> {
        let asked = head.attributes();
        let audit = log.policy.of(draft.user.as_deref(), &asked);
        if audit.level == AuditLevel::None {
            return None;
        }
        let mut object = Map::new();
        if asked.is_resource {
            for (key, text) in [
                ("resource", &asked.resource),
                ("namespace", &asked.namespace),
                ("name", &asked.name),
                ("apiGroup", &asked.group),
                ("apiVersion", &asked.version),
                ("subresource", &asked.subresource),
            ] {
                put(&mut object, key, text);
            }
        }
        let agent = head
            .headers()
            .get(USER_AGENT)
            .map_or("", |agent| agent.to_str().unwrap_or_default());
        let mut user_agent = super::cut(agent, LONGEST_USER_AGENT).to_owned();
        if agent.len() > LONGEST_USER_AGENT {
            user_agent.push_str("...TRUNCATED");
        }
        let is_long_running = asked.is_resource
            && (matches!(&*asked.verb, "watch" | "proxy")
                || Subresource::parse(&asked.subresource).is_some_and(Subresource::is_long_running));
        Some(LoggedRequest {
            log: log.clone(),
            audit,
            clock: *clock,
            received: draft.time,
            id: draft.id.to_str().unwrap_or_default().to_owned(),
            uri: super::uri(head.parts).to_owned(),
            verb: asked.verb.clone().into_owned(),
            user: draft.user.clone(),
            addresses: addresses(head),
            user_agent,
            is_long_running,
            rest: Mutex::new(Rest {
                object,
                is_resource: asked.is_resource,
                ..Rest::default()
            }),
        })
    }

    /// Whether the objects of a request are logged.
    pub(crate) fn has(&self, level: AuditLevel) -> bool {
        self.audit.level >= level
    }

    /// What a client sent, once it is decoded.
    pub(crate) fn request_object(&self, ty: Option<TypeRef<'_>>, object: &Value) {
        let mut rest = self.rest.lock();
        for key in ["namespace", "name", "uid", "resourceVersion"] {
            if !rest.object.contains_key(key) {
                put(&mut rest.object, key, meta_text(object, key));
            }
        }
        if self.has(AuditLevel::Request) {
            let mut object = object.clone();
            if let Some(ty) = ty {
                kubewright_schema::leave_out_empties(ty, &mut object);
            }
            self.without_managed_fields(&mut object);
            rest.request = Some(object);
        }
    }

    /// A patch, as it was sent.
    pub(crate) fn request_patch(&self, text: &[u8]) {
        if self.has(AuditLevel::Request) {
            self.rest.lock().request = serde_json::from_slice(text).ok();
        }
    }

    /// The options of a deletion that were sent. Upstream shows its internal version of them.
    pub(crate) fn delete_options(&self, options: &Value) {
        if self.has(AuditLevel::Request) {
            let mut options = options.clone();
            options["kind"] = "DeleteOptions".into();
            options["apiVersion"] = "meta.k8s.io/__internal".into();
            self.rest.lock().request = Some(options);
        }
    }

    /// The answer, as JSON.
    pub(crate) fn response_object(&self, text: &[u8]) {
        let may_be_status = memchr::memmem::find(text, br#""kind":"Status""#).is_some();
        if !may_be_status && !self.has(AuditLevel::RequestResponse) {
            return;
        }
        let Ok(mut object) = serde_json::from_slice::<Value>(text) else {
            return;
        };
        let is_status = object["kind"] == "Status" && object["apiVersion"] == "v1";
        let mut rest = self.rest.lock();
        if is_status {
            let kept = ["status", "message", "reason", "details", "code"];
            let status = object.as_object().into_iter().flatten();
            let status = status.filter(|(key, _)| kept.contains(&key.as_str()));
            rest.status = Some(status.map(|(key, value)| (key.clone(), value.clone())).collect());
        }
        if self.has(AuditLevel::RequestResponse) {
            self.without_managed_fields(&mut object);
            rest.response = Some(object);
        }
    }

    fn without_managed_fields(&self, object: &mut Value) {
        if !self.audit.omit_managed_fields {
            return;
        }
        let remove = |object: &mut Value| {
            if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
                metadata.remove("managedFields");
            }
        };
        remove(object);
        for key in ["items", "rows"] {
            for item in object.get_mut(key).and_then(Value::as_array_mut).into_iter().flatten() {
                remove(if key == "rows" { &mut item["object"] } else { item });
            }
        }
    }

    /// Logs that the request was received.
    pub(super) fn received(&self) {
        self.write(AuditStage::RequestReceived, self.received);
    }

    /// Takes over what access said of the request.
    pub(super) fn decided(&self, draft: &AuditDraft) {
        let mut rest = self.rest.lock();
        rest.impersonated.clone_from(&draft.impersonated);
        if let AccessOutcome::Decided(decision) = &draft.outcome {
            let word = if decision.allowed { "allow" } else { "forbid" };
            rest.annotations
                .insert("authorization.k8s.io/decision".into(), word.into());
            let reason = decision.reason.to_string();
            rest.annotations
                .insert("authorization.k8s.io/reason".into(), reason.into());
        }
        for (key, value) in &draft.annotations {
            rest.annotations.insert(key.clone(), value.clone().into());
        }
    }

    /// Logs that the answer begins; the rest of a long one is logged when what is returned is dropped.
    pub(super) fn answered(self: Arc<Self>, code: u16) -> Option<EndOfAnswer> {
        let mut rest = self.rest.lock();
        let mut status = rest.status.take().unwrap_or_default();
        if code == 0 {
            status.insert("status".into(), "Success".into());
            status.insert("message".into(), "Connection closed early".into());
        }
        status.insert("code".into(), if code == 0 { 200 } else { code }.into());
        rest.status = Some(status);
        drop(rest);
        if self.is_long_running || self.user.is_none() {
            self.write(AuditStage::ResponseStarted, self.clock.now());
            // Upstream says nothing of the end where nobody knows whose request it is.
            return self.user.is_some().then(|| EndOfAnswer(self));
        }
        self.write(AuditStage::ResponseComplete, self.clock.now());
        None
    }

    fn write(&self, stage: AuditStage, time: Timestamp) {
        if self.audit.omitted.contains(&stage) {
            return;
        }
        let rest = self.rest.lock();
        let line = match self.log.format {
            AuditLogFormat::Json => self.json(&rest, stage, time),
            AuditLogFormat::Legacy => self.words(&rest, stage),
        };
        drop(rest);
        (self.log.write)(&line);
    }

    fn json(&self, rest: &Rest, stage: AuditStage, time: Timestamp) -> String {
        let mut line = String::from(r#"{"kind":"Event","apiVersion":"audit.k8s.io/v1""#);
        let mut add = |key: &str, value: &Value| {
            let _ = write!(line, r#","{key}":{}"#, escaped(value));
        };
        add("level", &self.audit.level.name().into());
        add("auditID", &self.id.as_str().into());
        add("stage", &stage.name().into());
        add("requestURI", &self.uri.as_str().into());
        add("verb", &self.verb.as_str().into());
        add("user", &self.user.as_deref().map_or_else(|| json!({}), user_info));
        if let Some((user, constraint)) = &rest.impersonated {
            add("impersonatedUser", &user_info(user));
            if !constraint.is_empty() {
                add(
                    "authenticationMetadata",
                    &json!({ "impersonationConstraint": constraint }),
                );
            }
        }
        if !self.addresses.is_empty() {
            add("sourceIPs", &json!(self.addresses));
        }
        if !self.user_agent.is_empty() {
            add("userAgent", &self.user_agent.as_str().into());
        }
        if rest.is_resource || !rest.object.is_empty() {
            add("objectRef", &Value::Object(rest.object.clone()));
        }
        if let Some(status) = &rest.status {
            let mut status = status.clone();
            status.insert("metadata".into(), json!({}));
            add("responseStatus", &Value::Object(status));
        }
        for (key, object) in [("requestObject", &rest.request), ("responseObject", &rest.response)] {
            if let Some(object) = object {
                add(key, object);
            }
        }
        add("requestReceivedTimestamp", &micro_time(self.received).into());
        add("stageTimestamp", &micro_time(time).into());
        if !rest.annotations.is_empty() {
            add("annotations", &Value::Object(rest.annotations.clone()));
        }
        line.push('}');
        line
    }

    fn words(&self, rest: &Rest, stage: AuditStage) -> String {
        let groups = |groups: &[String]| groups.iter().map(|group| quote(group)).collect::<Vec<_>>().join(",");
        let user = self.user.as_deref().filter(|user| !user.name.is_empty());
        let name = user.map_or("<none>", |user| &user.name);
        let of = user.filter(|user| !user.groups.is_empty());
        let of = of.map_or_else(|| "<none>".to_owned(), |user| groups(&user.groups));
        let impersonated = rest.impersonated.as_ref().map(|(user, _)| user);
        let as_user = impersonated.map_or("<self>", |user| &user.name);
        let as_groups = impersonated.map_or_else(|| "<lookup>".to_owned(), |user| groups(&user.groups));
        let namespace = rest.object.get("namespace").and_then(Value::as_str).unwrap_or("<none>");
        let code = rest.status.as_ref().and_then(|status| status.get("code"));
        let response = code.map_or_else(|| "<deferred>".to_owned(), Value::to_string);
        let address = self.addresses.first().map_or("<unknown>", String::as_str);
        format!(
            "{} AUDIT: id={} stage={} ip={} method={} user={} groups={} as={} asgroups={} user-agent={} namespace={} uri={} response=\"{response}\"",
            self.received,
            quote(&self.id),
            quote(stage.name()),
            quote(address),
            quote(&self.verb),
            quote(name),
            quote(&of),
            quote(as_user),
            quote(&as_groups),
            quote(&self.user_agent),
            quote(namespace),
            quote(&self.uri),
        )
    }
}

/// Logs the end of a long answer when it is dropped with it.
pub(crate) struct EndOfAnswer(Arc<LoggedRequest>);

impl Drop for EndOfAnswer {
    fn drop(&mut self) {
        self.0.write(AuditStage::ResponseComplete, self.0.clock.now());
    }
}

fn put(object: &mut Map<String, Value>, key: &str, text: &str) {
    if !text.is_empty() {
        object.insert(key.to_owned(), text.into());
    }
}

fn user_info(user: &User) -> Value {
    let mut info = Map::new();
    put(&mut info, "username", &user.name);
    put(&mut info, "uid", &user.uid);
    if !user.groups.is_empty() {
        info.insert("groups".into(), json!(user.groups));
    }
    if !user.extra.is_empty() {
        info.insert("extra".into(), json!(user.extra));
    }
    Value::Object(info)
}

/// JSON as Go writes it: what a browser could take for a tag is escaped.
fn escaped(value: &Value) -> String {
    let text = value.to_string();
    text.replace('<', "\\u003c")
        .replace('>', "\\u003e")
        .replace('&', "\\u0026")
}

fn micro_time(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string()
}

/// Where a request comes from: proxies on its way, and the client of the connection.
fn addresses(head: &RequestHead<'_>) -> Vec<String> {
    let header = |name: &str| head.headers().get(name).and_then(|value| value.to_str().ok());
    let forwarded = header("x-forwarded-for").unwrap_or_default().split(',');
    let mut found: Vec<IpAddr> = forwarded.filter_map(|part| part.trim().parse().ok()).collect();
    if let Some(address) = header("x-real-ip").and_then(|text| text.parse().ok())
        && !found.contains(&address)
    {
        found.push(address);
    }
    if let Some(ClientAddress(address)) = head.parts.extensions.get::<ClientAddress>()
        && found.last() != Some(address)
    {
        found.push(*address);
    }
    found.iter().map(IpAddr::to_string).collect()
}
