//! `serviceaccounts/token`: a `TokenRequest` is answered with a signed token.

use http::StatusCode;
use jiff::SignedDuration;
use kubewright_apimachinery::field::{Errors, FieldError, PathRef};
use kubewright_apimachinery::go::quote;
use kubewright_kinds::meta;
use kubewright_merge::{ConversionError, FieldManager, Versions};
use kubewright_schema::{self as schema, TypeRef};
use kubewright_system::clock;
use serde_json::{Value, json};

use super::body_kind;
use crate::admit::BodyKind;
use crate::object::{self, meta_text, set_meta};
use crate::registry::BuiltInId;
use crate::request::HandlerOutput;
use crate::request::call::Call;
use crate::request::write_options::OptionsKind;
use crate::wire::respond::Reply;
use crate::wire::status::{GroupResource, Result, Status};
use crate::write::addressed::place_in_namespace;
use crate::write::decode;

const GROUP: &str = "authentication.k8s.io";
const API_VERSION: &str = "authentication.k8s.io/v1";
const DEFAULT_SECONDS: i64 = 3600;
const LEAST_SECONDS: i64 = 600;
const MOST_SECONDS: i64 = 1 << 32;
/// What kubelets ask for pods that do not know that tokens expire; they get a year, and a warning in the trail.
const WARN_ONLY_SECONDS: i64 = 3607;
const EXTENDED_SECONDS: i64 = 365 * 24 * 60 * 60;

pub(super) async fn create(call: &mut Call<'_>) -> Result<HandlerOutput> {
    let expected = decode::expected(GROUP, "v1", "TokenRequest")?;
    let (options, mut request) = decode::received(call, OptionsKind::Create, expected)?;
    let wanted_uid = meta_text(&request, "uid").to_owned();
    if let Some(metadata) = object::metadata_mut(&mut request) {
        meta::wipe_system_fields(metadata);
    }
    place_in_namespace(call, &mut request)?;
    if request.pointer("/spec/expirationSeconds").is_none_or(Value::is_null) {
        request["spec"]["expirationSeconds"] = DEFAULT_SECONDS.into();
    }
    request = owned(call, &options.manager, request)?;
    let name = call.target.name;
    request = body_kind::owned(call, BodyKind::TOKEN_REQUEST, &options.manager, request);
    body_kind::mutate(call, BodyKind::TOKEN_REQUEST, name, &mut request, options.dry_run).await?;
    let given = meta_text(&request, "name");
    if !given.is_empty() && given != name {
        let path = PathRef::root("metadata");
        let detail = "must match the service account name if specified";
        let error = FieldError::invalid(&path.child("name"), given, detail);
        return Err(Status::invalid(GROUP, "TokenRequest", name, &vec![error]));
    }
    let account = call.existing()?;
    check_uid(name, &wanted_uid, &account.uid)?;
    check_seconds(&request)?;
    if request
        .pointer("/spec/audiences")
        .and_then(Value::as_array)
        .is_none_or(Vec::is_empty)
    {
        request["spec"]["audiences"] = json!(call.server.signer.audiences());
    }
    let now = call.server.clock.now();
    set_meta(&mut request, "name", name);
    set_meta(&mut request, "uid", &*account.uid);
    set_meta(&mut request, "creationTimestamp", clock::stamp(now));
    body_kind::validate(call, BodyKind::TOKEN_REQUEST, name, &request, options.dry_run).await?;
    let mut private = json!({
        "namespace": call.target.namespace,
        "serviceaccount": { "name": name, "uid": &*account.uid },
    });
    for (kind, reference) in bound(call, &request)? {
        private[kind] = reference;
    }
    let now = call.server.clock.now();
    let mut seconds = seconds_of(&request);
    let tokens = call.server.signer.settings();
    let longest = tokens.longest.and_then(|longest| i64::try_from(longest.as_secs()).ok());
    if let Some(longest) = longest.filter(|longest| seconds > *longest) {
        call.warnings.push(format!(
            "requested expiration of {seconds} seconds shortened to {longest} seconds"
        ));
        request["spec"]["expirationSeconds"] = longest.into();
        seconds = longest;
    }
    let after = |seconds: i64| now.saturating_add(SignedDuration::from_secs(seconds)).unwrap_or(now);
    let mut lasts = seconds;
    if tokens.extends
        && seconds == WARN_ONLY_SECONDS
        && private.get("pod").is_some()
        && is_for_this_server(call, &request)
    {
        lasts = EXTENDED_SECONDS;
        private["warnafter"] = after(seconds).as_second().into();
    }
    let id = call.server.random.uuid();
    let claims = json!({
        "aud": request["spec"]["audiences"],
        "exp": after(lasts).as_second(),
        "iat": now.as_second(),
        "iss": call.server.signer.issuer(),
        "jti": id,
        "kubernetes.io": private,
        "nbf": now.as_second(),
        "sub": format!("system:serviceaccount:{}:{name}", call.target.namespace),
    });
    let token = call
        .server
        .signer
        .sign(&claims)
        .ok_or_else(|| Status::internal("failed to generate token: no signing key"))?;
    call.annotations
        .add("authentication.kubernetes.io/issued-credential-id", format!("JTI={id}"));
    set_meta(&mut request, "name", name);
    set_meta(&mut request, "uid", &*account.uid);
    set_meta(&mut request, "creationTimestamp", clock::stamp(now));
    request["status"] = json!({ "token": token, "expirationTimestamp": clock::stamp(after(seconds)) });
    Ok(Reply::value(StatusCode::CREATED, &request).into())
}

/// The request with the record of who wrote it, which upstream keeps even for what is not stored.
fn owned(call: &Call<'_>, manager: &str, request: Value) -> Result<Value> {
    let ty = schema::Types::builtin().kind(GROUP, "v1", "TokenRequest");
    let ty = ty.ok_or_else(|| Status::internal("the table of facts has no TokenRequest"))?;
    let time = call.server.clock.stamp();
    let manager = FieldManager {
        name: manager,
        api_version: API_VERSION,
        kind: "TokenRequest",
        subresource: "token",
        time: &time,
    };
    Ok(kubewright_merge::update(&TokenRequestKind(ty), &manager, None, request))
}

/// The kind as field management knows it: one version.
struct TokenRequestKind(TypeRef<'static>);

impl Versions<'static> for TokenRequestKind {
    type Topology = TypeRef<'static>;

    fn topology(&self, api_version: &str) -> Option<TypeRef<'static>> {
        (api_version == API_VERSION).then_some(self.0)
    }

    fn convert(&self, _object: &Value, _api_version: &str) -> std::result::Result<Value, ConversionError> {
        Err(ConversionError::MissingVersion)
    }

    fn zero(&self, _api_version: &str) -> Value {
        let empty = Value::Object(serde_json::Map::new());
        schema::decode(self.0, empty, None)
            .map(|decoded| decoded.value)
            .unwrap_or_default()
    }
}

fn seconds_of(request: &Value) -> i64 {
    request
        .pointer("/spec/expirationSeconds")
        .and_then(Value::as_i64)
        .unwrap_or(DEFAULT_SECONDS)
}

/// Whether a token is for this server alone.
fn is_for_this_server(call: &Call<'_>, request: &Value) -> bool {
    let own = call.server.signer.audiences();
    let audiences = request.pointer("/spec/audiences").and_then(Value::as_array);
    audiences.is_some_and(|audiences| audiences.iter().all(|audience| own.iter().any(|own| audience == own)))
}

/// A request with the uid of an account gets no token of another account of the same name.
fn check_uid(name: &str, wanted: &str, found: &str) -> Result<()> {
    if wanted.is_empty() || wanted == found {
        return Ok(());
    }
    let why =
        format!("the UID in the token request ({wanted}) does not match the UID of the service account ({found})");
    let about = GroupResource {
        group: GROUP,
        resource: "TokenRequest",
    };
    Err(Status::conflict(about, name, &why))
}

fn check_seconds(request: &Value) -> Result<()> {
    let seconds = seconds_of(request);
    let path = PathRef::root("spec");
    let mut errors = Errors::new();
    if seconds < LEAST_SECONDS {
        let detail = "may not specify a duration less than 10 minutes";
        errors.push(FieldError::invalid(&path.child("expirationSeconds"), seconds, detail));
    }
    if seconds > MOST_SECONDS {
        let detail = "may not specify a duration larger than 2^32 seconds";
        errors.push(FieldError::invalid(&path.child("expirationSeconds"), seconds, detail));
    }
    if errors.is_empty() {
        Ok(())
    } else {
        Err(Status::invalid(GROUP, "TokenRequest", "", &errors))
    }
}

/// The object that a token shall not outlive, as the claims name it, and the node of a pod.
fn bound(call: &Call<'_>, request: &Value) -> Result<Vec<(&'static str, Value)>> {
    let Some(reference) = request
        .pointer("/spec/boundObjectRef")
        .filter(|reference| reference.is_object())
    else {
        return Ok(Vec::new());
    };
    let text = |key: &str| reference.get(key).and_then(Value::as_str).unwrap_or_default();
    // The version does not matter, as long as the group is the core.
    let (group, version) = text("apiVersion").split_once('/').unwrap_or(("", text("apiVersion")));
    let (id, claim) = match (group, text("kind")) {
        ("", "Pod") => (BuiltInId::Pods, "pod"),
        ("", "Secret") => (BuiltInId::Secrets, "secret"),
        ("", "Node") => (BuiltInId::Nodes, "node"),
        (group, kind) => {
            let message = format!("cannot bind token to object of type {group}/{version}, Kind={kind}");
            return Err(Status::bad_request(message));
        }
    };
    let resource = id.resource();
    let namespace = if resource.namespaced { call.target.namespace } else { "" };
    let record = call
        .server
        .store
        .get(resource.table, &object::key(namespace, text("name")))
        .ok_or_else(|| Status::not_found(resource.about(), text("name")))?;
    let account = call.target.name;
    let mut node = None;
    if id == BuiltInId::Pods {
        let pod = object::to_value(resource, &record, record.revision);
        if pod
            .pointer("/spec/serviceAccountName")
            .and_then(Value::as_str)
            .unwrap_or_default()
            != account
        {
            return Err(Status::bad_request(format!(
                "cannot bind token for serviceaccount {} to pod running with different serviceaccount name.",
                quote(account)
            )));
        }
        node = pod.pointer("/spec/nodeName").and_then(Value::as_str).map(str::to_owned);
    }
    let uid = text("uid");
    if !uid.is_empty() && uid != &*record.uid {
        let why = format!(
            "the UID in the bound object reference ({uid}) does not match the UID in record. The object might have been deleted and then recreated"
        );
        // The kind stands here where other conflicts name the resource.
        let about = GroupResource {
            group: "",
            resource: &resource.kind,
        };
        return Err(Status::conflict(about, text("name"), &why));
    }
    let mut claims = vec![(claim, json!({ "name": text("name"), "uid": &*record.uid }))];
    if let Some(node) = node.filter(|node| !node.is_empty()) {
        let nodes = BuiltInId::Nodes.resource();
        claims.push(match call.server.store.get(nodes.table, &node) {
            Some(record) => ("node", json!({ "name": node, "uid": &*record.uid })),
            // Where the pod is meant to run is worth knowing even if the node is not there.
            None => ("node", json!({ "name": node })),
        });
    }
    Ok(claims)
}
