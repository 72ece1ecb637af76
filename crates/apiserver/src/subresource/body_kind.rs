//! Admission of bodies of subresources that are of a kind of their own: a Binding, an Eviction, a `TokenRequest`, the
//! options of a connection (A15).

use kubewright_merge::{self as merge, ConversionError, FieldManager, Versions};
use kubewright_schema::{self as schema, TypeRef, Types};
use serde_json::{Map, Value, json};

use crate::admit::{self, Attributes, BodyKind, Operation};
use crate::object::meta_text;
use crate::registry::{BuiltInId, Subresource, api_version, name_of};
use crate::request::call::Call;
use crate::wire::status::Result;

/// The body with its owners.
pub(super) fn owned(call: &Call<'_>, part: BodyKind, manager: &str, body: Value) -> Value {
    let Some(ty) = Types::builtin().kind(part.group, BodyKind::VERSION, part.kind) else {
        return body;
    };
    let (version, time) = (api_version(part.group, BodyKind::VERSION), call.server.clock.stamp());
    let manager = FieldManager {
        name: manager,
        api_version: &version,
        kind: part.kind,
        subresource: name_of(call.target.subresource),
        time: &time,
    };
    let kind = PartKind {
        ty,
        api_version: &version,
    };
    merge::update(&kind, &manager, None, body)
}

/// Lets plugins and webhooks change a body.
pub(super) async fn mutate(
    call: &mut Call<'_>,
    part: BodyKind,
    name: &str,
    body: &mut Value,
    dry_run: bool,
) -> Result<()> {
    let attributes = Attributes::new(call, Operation::Create, name, dry_run).with_body_kind(part);
    admit::mutate(&attributes, body, None, &mut call.warnings).await
}

/// Lets plugins and webhooks refuse a body.
pub(super) async fn validate(
    call: &mut Call<'_>,
    part: BodyKind,
    name: &str,
    body: &Value,
    dry_run: bool,
) -> Result<()> {
    let attributes = Attributes::new(call, Operation::Create, name, dry_run).with_body_kind(part);
    admit::validate(&attributes, body, None, &mut call.warnings).await
}

/// Lets webhooks change a review, which is of its resource's own kind.
pub(super) async fn mutate_review(call: &mut Call<'_>, review: &mut Value) -> Result<()> {
    if !call.server.has_dynamic_admission() {
        return Ok(());
    }
    let attributes = of_review(call, review);
    admit::mutate(&attributes, review, None, &mut call.warnings).await
}

/// Lets webhooks refuse a review.
pub(super) async fn validate_review(call: &mut Call<'_>, review: &Value) -> Result<()> {
    if !call.server.has_dynamic_admission() {
        return Ok(());
    }
    let attributes = of_review(call, review);
    admit::validate(&attributes, review, None, &mut call.warnings).await
}

fn of_review<'a>(call: &Call<'a>, review: &Value) -> Attributes<'a> {
    let dry_run = !call.query.all("dryRun").is_empty();
    Attributes::new(call, Operation::Create, meta_text(review, "name"), dry_run)
}

/// Lets webhooks refuse a connection to a Pod, a Service or a node. The server then refuses it too, since it has none.
pub(super) async fn admit_connection(call: &mut Call<'_>) -> Result<()> {
    let Some(part) = connection(call) else {
        return Ok(());
    };
    if !call.server.has_dynamic_admission() {
        return Ok(());
    }
    let mut options = connection_options(call, part);
    let attributes = Attributes::new(call, Operation::Connect, call.target.name, false).with_body_kind(part);
    admit::mutate(&attributes, &mut options, None, &mut call.warnings).await?;
    admit::validate(&attributes, &options, None, &mut call.warnings).await
}

fn connection(call: &Call<'_>) -> Option<BodyKind> {
    Some(match (call.resource().id()?, call.target.subresource?) {
        (BuiltInId::Pods, Subresource::Exec) => BodyKind::EXEC,
        (BuiltInId::Pods, Subresource::Attach) => BodyKind::ATTACH,
        (BuiltInId::Pods, Subresource::PortForward) => BodyKind::PORT_FORWARD,
        (BuiltInId::Pods, Subresource::Proxy) => BodyKind::POD_PROXY,
        (BuiltInId::Services, Subresource::Proxy) => BodyKind::SERVICE_PROXY,
        (BuiltInId::Nodes, Subresource::Proxy) => BodyKind::NODE_PROXY,
        _ => return None,
    })
}

/// The options of a connection, which its query gives.
fn connection_options(call: &Call<'_>, part: BodyKind) -> Value {
    let mut options = Map::new();
    options.insert("apiVersion".into(), BodyKind::VERSION.into());
    options.insert("kind".into(), part.kind.into());
    let query = call.query;
    for key in ["stdin", "stdout", "stderr", "tty"] {
        if query.flag(key) == Some(true) {
            options.insert(key.into(), true.into());
        }
    }
    if let Some(container) = query.get("container").filter(|name| !name.is_empty()) {
        options.insert("container".into(), container.into());
    }
    let command = query.all("command");
    if !command.is_empty() {
        options.insert("command".into(), json!(command));
    }
    let ports = query.all("ports");
    let ports = ports.iter().flat_map(|ports| ports.split(','));
    let ports: Vec<i64> = ports.filter_map(|port| port.parse().ok()).collect();
    if !ports.is_empty() {
        options.insert("ports".into(), json!(ports));
    }
    if !call.target.rest.is_empty() {
        options.insert("path".into(), call.target.rest.into());
    }
    Value::Object(options)
}

/// A kind of one version, as its owners know it.
struct PartKind<'a> {
    ty: TypeRef<'static>,
    api_version: &'a str,
}

impl Versions<'static> for PartKind<'_> {
    type Topology = TypeRef<'static>;

    fn topology(&self, api_version: &str) -> Option<TypeRef<'static>> {
        (api_version == self.api_version).then_some(self.ty)
    }

    fn convert(&self, _object: &Value, _api_version: &str) -> std::result::Result<Value, ConversionError> {
        Err(ConversionError::MissingVersion)
    }

    fn zero(&self, _api_version: &str) -> Value {
        let empty = Value::Object(Map::new());
        schema::decode(self.ty, empty, None)
            .map(|decoded| decoded.value)
            .unwrap_or_default()
    }
}
