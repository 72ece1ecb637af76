//! What plugins and webhooks may know about a write.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

pub(crate) use kubewright_admission::Operation;
use kubewright_admission::{Attributes as Facts, GroupVersionKind, GroupVersionResource, UserInfo};
use serde_json::{Map, Value, json};
use tokio::time::Instant;

use crate::access::{self, Attributes as Asked, Decision, Questions, User};
use crate::audit::AuditAnnotations;
use crate::object;
use crate::registry::{BuiltInId, Resource, Subresource, name_of};
use crate::request::call::Call;
use crate::request::delete_options::{DeleteOptions, Propagation};
use crate::request::timeout;
use crate::server::Server;
use crate::wire::query::Query;
use crate::wire::status::Status;

/// How long a write may take at most.
const LONGEST: Duration = Duration::from_secs(34);

/// What plugins may know about a write.
#[derive(Clone)]
pub(crate) struct Attributes<'a> {
    pub(crate) server: &'a Server,
    pub(crate) user: &'a User,
    /// The resource that was addressed.
    pub(crate) resource: &'a Resource,
    pub(crate) operation: Operation,
    pub(crate) namespace: &'a str,
    pub(crate) name: String,
    /// What its name will begin with, if it has none yet.
    pub(crate) generate_name: String,
    pub(crate) subresource: Option<Subresource<'a>>,
    pub(crate) dry_run: bool,
    /// Annotations that plugins and webhooks add to the audit event.
    pub(crate) annotations: &'a AuditAnnotations,
    /// The kind of a body that is not of the resource's own kind, such as a `Scale`.
    pub(crate) body_kind: Option<BodyKind>,
    /// Set when a webhook is called first; one for the whole request, however often the write is tried.
    deadline: &'a OnceLock<Deadline>,
    query: &'a Query,
    delete: Option<&'a DeleteOptions>,
    /// Where somebody outside the server is asked what users may do.
    questions: Option<Arc<Questions>>,
}

/// A kind that exists as the body of a subresource only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BodyKind {
    pub(crate) group: &'static str,
    pub(crate) kind: &'static str,
}

impl BodyKind {
    pub(crate) const SCALE: BodyKind = BodyKind::new("autoscaling", "Scale");
    pub(crate) const BINDING: BodyKind = BodyKind::new("", "Binding");
    pub(crate) const EVICTION: BodyKind = BodyKind::new("policy", "Eviction");
    pub(crate) const TOKEN_REQUEST: BodyKind = BodyKind::new("authentication.k8s.io", "TokenRequest");
    pub(crate) const EXEC: BodyKind = BodyKind::new("", "PodExecOptions");
    pub(crate) const ATTACH: BodyKind = BodyKind::new("", "PodAttachOptions");
    pub(crate) const PORT_FORWARD: BodyKind = BodyKind::new("", "PodPortForwardOptions");
    pub(crate) const POD_PROXY: BodyKind = BodyKind::new("", "PodProxyOptions");
    pub(crate) const SERVICE_PROXY: BodyKind = BodyKind::new("", "ServiceProxyOptions");
    pub(crate) const NODE_PROXY: BodyKind = BodyKind::new("", "NodeProxyOptions");
    /// All of them have one version.
    pub(crate) const VERSION: &'static str = "v1";

    const fn new(group: &'static str, kind: &'static str) -> BodyKind {
        BodyKind { group, kind }
    }
}

/// Until when a write must be done.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deadline {
    pub(crate) at: Instant,
    /// The client said so.
    pub(crate) wanted: bool,
}

impl Deadline {
    pub(crate) fn of(server: &Server, query: &Query) -> Deadline {
        let longest = LONGEST.min(server.timeouts.request);
        let wanted = query.get("timeout").and_then(timeout::duration);
        let wanted = wanted.filter(|wanted| !wanted.is_zero() && *wanted < longest);
        Deadline {
            at: Instant::now() + wanted.unwrap_or(longest),
            wanted: wanted.is_some(),
        }
    }
}

impl<'a> Attributes<'a> {
    pub(crate) fn new(call: &Call<'a>, operation: Operation, name: &str, dry_run: bool) -> Self {
        Attributes {
            server: call.server,
            user: call.user,
            resource: &call.target.resource,
            operation,
            namespace: call.target.namespace,
            name: name.to_owned(),
            generate_name: String::new(),
            subresource: call.target.subresource,
            dry_run,
            annotations: call.annotations,
            body_kind: (call.target.subresource == Some(Subresource::Scale)).then_some(BodyKind::SCALE),
            deadline: call.deadline,
            query: call.query,
            delete: None,
            questions: call.server.asks_webhooks().then(Arc::default),
        }
    }

    /// Whether a user may do what is asked. Only inside of [`Attributes::settled`] the answer is known.
    pub(crate) fn decide(&self, user: &User, asked: &Asked<'_>) -> Decision {
        match &self.questions {
            None => access::decide(self.server, user, asked),
            Some(questions) => questions.decide(user, asked),
        }
    }

    /// What is known of users' rights, where somebody outside the server is asked.
    pub(crate) fn questions(&self) -> Option<Arc<Questions>> {
        self.questions.clone()
    }

    /// Does work that asks what users may do, once more for every question that has to be sent.
    pub(crate) async fn settled<T>(&self, mut work: impl FnMut() -> T) -> T {
        match &self.questions {
            None => work(),
            Some(questions) => questions.settled(self.server, work).await,
        }
    }

    /// Until when the write must be done, counted from the first call of a webhook.
    pub(crate) fn deadline(&self) -> Deadline {
        *self.deadline.get_or_init(|| Deadline::of(self.server, self.query))
    }

    /// For a body of this kind.
    pub(crate) fn with_body_kind(mut self, part: BodyKind) -> Self {
        self.body_kind = Some(part);
        self
    }

    /// For a deletion that is meant like this.
    pub(crate) fn with_deletion<'s>(&'s self, options: &'s DeleteOptions) -> Attributes<'s> {
        Attributes {
            delete: Some(options),
            ..self.clone()
        }
    }

    /// A plugin refuses the write. What has no name yet is called by what its name will begin with.
    pub(crate) fn forbidden(&self, why: &str) -> Box<Status> {
        let names = [self.name.as_str(), &self.generate_name, "Unknown"];
        let name = names.into_iter().find(|name| !name.is_empty()).unwrap_or_default();
        Status::forbidden(self.resource.about(), name, why)
    }

    /// Whether the write is of this resource itself, not of a subresource.
    pub(super) fn is(&self, id: BuiltInId) -> bool {
        self.resource.is(id) && self.subresource.is_none()
    }

    /// Whether the write creates an object of this resource.
    pub(super) fn creates(&self, id: BuiltInId) -> bool {
        self.is(id) && self.operation == Operation::Create
    }

    /// A stored object that a plugin needs to know: by its name, or `namespace/name`.
    pub(super) fn stored(&self, id: BuiltInId, key: &str) -> Option<Value> {
        let resource = id.resource();
        let record = self.server.store.get(resource.table, key)?;
        Some(object::to_value(resource, &record, record.revision))
    }

    /// All stored objects of a resource in a namespace, or all there are.
    pub(super) fn all_stored(&self, id: BuiltInId, namespace: Option<&str>) -> Vec<Value> {
        let resource = id.resource();
        let snapshot = self.server.store.snapshot(resource.table);
        let records = snapshot.records(namespace, None);
        records
            .map(|record| object::to_value(resource, record, record.revision))
            .collect()
    }

    /// The kind of the objects as the client sees them.
    pub(crate) fn kind(&self) -> GroupVersionKind {
        match self.body_kind {
            Some(part) => GroupVersionKind::new(part.group, BodyKind::VERSION, part.kind),
            None => kind_of(self.resource),
        }
    }

    /// The attributes that webhooks get in addition to the objects.
    pub(crate) fn facts(&self) -> Facts {
        let resource = self.resource;
        let is_namespace = resource.is(BuiltInId::Namespaces);
        Facts {
            operation: self.operation,
            kind: self.kind(),
            resource: GroupVersionResource::new(&resource.group, &resource.version, &resource.plural),
            subresource: name_of(self.subresource).to_owned(),
            name: self.name.clone(),
            namespace: if is_namespace {
                self.name.clone()
            } else {
                self.namespace.to_owned()
            },
            user: UserInfo {
                username: self.user.name.clone(),
                uid: self.user.uid.clone(),
                groups: self.user.groups.clone(),
                extra: self.user.extra.clone().into_iter().collect(),
            },
            dry_run: self.dry_run,
            options: self.options(),
        }
    }

    fn options(&self) -> Value {
        let kind = match self.operation {
            Operation::Create => "CreateOptions",
            Operation::Update => "UpdateOptions",
            Operation::Delete => "DeleteOptions",
            Operation::Connect => return Value::Null,
        };
        let mut options = Map::new();
        options.insert("kind".into(), kind.into());
        options.insert("apiVersion".into(), "meta.k8s.io/v1".into());
        if self.dry_run {
            options.insert("dryRun".into(), json!(["All"]));
        }
        match self.delete {
            Some(delete) => put_deletion(delete, &mut options),
            None if self.operation == Operation::Delete => {}
            None => {
                for key in ["fieldManager", "fieldValidation"] {
                    let text = self.query.text(key);
                    if !text.is_empty() {
                        options.insert(key.into(), text.into());
                    }
                }
            }
        }
        Value::Object(options)
    }
}

fn put_deletion(delete: &DeleteOptions, options: &mut Map<String, Value>) {
    if let Some(seconds) = delete.grace_period_seconds {
        options.insert("gracePeriodSeconds".into(), seconds.into());
    }
    let mut preconditions = Map::new();
    for (key, text) in [("uid", &delete.uid), ("resourceVersion", &delete.resource_version)] {
        if let Some(text) = text {
            preconditions.insert(key.into(), text.as_str().into());
        }
    }
    if !preconditions.is_empty() {
        options.insert("preconditions".into(), Value::Object(preconditions));
    }
    if let Some(orphan) = delete.orphan_dependents {
        options.insert("orphanDependents".into(), orphan.into());
    }
    if let Some(propagation) = delete.propagation {
        let name = match propagation {
            Propagation::Background => "Background",
            Propagation::Foreground => "Foreground",
            Propagation::Orphan => "Orphan",
        };
        options.insert("propagationPolicy".into(), name.into());
    }
}

/// The kind of a resource in its version.
pub(crate) fn kind_of(resource: &Resource) -> GroupVersionKind {
    GroupVersionKind::new(&resource.group, &resource.version, &resource.kind)
}
