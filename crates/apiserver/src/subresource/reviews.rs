//! Reviews, which are only ever answered: may they, what may I, whose token is this, who am I (Z2, Z6).

use http::StatusCode;
use kubewright_access::{Attributes, Rule, node_of};
use kubewright_apimachinery::errors::aggregate;
use kubewright_apimachinery::field::{BadValue, Errors, FieldError, PathRef};
use kubewright_kinds::meta;
use kubewright_schema::Types;
use serde_json::{Map, Value, json};

use super::{body_kind, selectors};
use crate::access::{self, Ruling, User};
use crate::object;
use crate::request::HandlerOutput;
use crate::request::call::Call;
use crate::request::write_options::OptionsKind;
use crate::server::options::AuthorizationMode;
use crate::wire::respond::Reply;
use crate::wire::status::{Result, Status};
use crate::write::addressed::place_in_namespace;
use crate::write::decode::{self, ExpectedKind};
use crate::write::go_text;
use crate::write::managed_fields::FieldWriter;

const AUTHORIZATION: &str = "authorization.k8s.io";

/// The user whose access a review asks about.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ReviewSubject {
    /// The user whom the review names.
    Anybody,
    /// The user whom the review names, in the review's namespace.
    AnybodyInNamespace,
    /// The user who sends the review.
    Requester,
}

/// The review in a request's body, as storage would hold it.
async fn received(call: &mut Call<'_>) -> Result<Value> {
    let resource = call.resource();
    let (options, mut review) = decode::received(call, OptionsKind::Create, ExpectedKind::of(resource))?;
    if let Some(metadata) = object::metadata_mut(&mut review) {
        meta::wipe_system_fields(metadata);
    }
    place_in_namespace(call, &mut review)?;
    let time = call.server.clock.stamp();
    let writer = FieldWriter {
        resource,
        subresource: None,
        manager: &options.manager,
        time: &time,
    };
    let mut review = writer.update_built_in(None, review);
    body_kind::mutate_review(call, &mut review).await?;
    Ok(review)
}

/// `SubjectAccessReview`, `LocalSubjectAccessReview`, `SelfSubjectAccessReview`.
pub(super) async fn access(call: &mut Call<'_>, about: ReviewSubject) -> Result<HandlerOutput> {
    let mut review = received(call).await?;
    let errors = validate(&review, about);
    if !errors.is_empty() {
        return Err(Status::invalid(AUTHORIZATION, "", "", &errors));
    }
    if call.target.lacks_namespace {
        return Err(Status::bad_request("namespace is required on this type: "));
    }
    body_kind::validate_review(call, &review).await?;
    let spec = &review["spec"];
    let named = user(spec);
    let user = if about == ReviewSubject::Requester {
        call.user
    } else {
        &named
    };
    let (asked, faults) = asked(spec);
    let Ruling {
        decision,
        denied,
        error,
    } = access::ruling(call.server, user, &asked).await;
    let mut status = Map::new();
    status.insert("allowed".into(), decision.allowed.into());
    if denied {
        status.insert("denied".into(), true.into());
    }
    let reason = decision.reason.to_string();
    let faults = [error.unwrap_or_default(), faults];
    let faults = faults.into_iter().filter(|fault| !fault.is_empty());
    let faults = faults.collect::<Vec<_>>().join("; ");
    for (key, text) in [("reason", reason), ("evaluationError", faults)] {
        if !text.is_empty() {
            status.insert(key.into(), text.into());
        }
    }
    review["status"] = Value::Object(status);
    Ok(Reply::value(StatusCode::CREATED, &review).into())
}

fn user(spec: &Value) -> User {
    let texts = |list: &Value| -> Vec<String> {
        let items = list.as_array().into_iter().flatten();
        items.filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let extra = spec["extra"].as_object().into_iter().flatten();
    User {
        name: text(spec, "user").to_owned(),
        uid: text(spec, "uid").to_owned(),
        groups: texts(&spec["groups"]),
        extra: extra.map(|(key, values)| (key.clone(), texts(values))).collect(),
    }
}

/// What a review asks about, and what of it could not be read.
fn asked(spec: &Value) -> (Attributes<'_>, String) {
    let resource = &spec["resourceAttributes"];
    if !resource.is_object() {
        let path = &spec["nonResourceAttributes"];
        return (Attributes::path(text(path, "verb"), text(path, "path")), String::new());
    }
    let mut asked = Attributes::resource(
        text(resource, "verb"),
        text(resource, "group"),
        text(resource, "resource"),
    )
    .in_namespace(text(resource, "namespace"))
    .named(text(resource, "name"))
    .part(text(resource, "subresource"));
    asked.version = match text(resource, "version") {
        "" => "*".into(),
        version => version.into(),
    };
    (asked, selectors::faults(resource))
}

fn validate(review: &Value, about: ReviewSubject) -> Errors {
    let spec = &review["spec"];
    let root = PathRef::root("spec");
    let mut errors = Errors::new();
    let (resource, path) = (&spec["resourceAttributes"], &spec["nonResourceAttributes"]);
    // Upstream shows its own type, whose fields have Go's names.
    let shown = || json!({ "Path": text(path, "path"), "Verb": text(path, "verb") });
    match (resource.is_object(), path.is_object()) {
        (true, true) => {
            let detail = "cannot be specified in combination with resourceAttributes";
            errors.push(FieldError::invalid(
                &root.child("nonResourceAttributes"),
                shown(),
                detail,
            ));
        }
        (false, false) => {
            let detail = "exactly one of nonResourceAttributes or resourceAttributes must be specified";
            errors.push(FieldError::invalid(
                &root.child("resourceAttributes"),
                Value::Null,
                detail,
            ));
        }
        _ => {}
    }
    let names_nobody = text(spec, "user").is_empty() && spec["groups"].as_array().is_none_or(Vec::is_empty);
    if about != ReviewSubject::Requester && names_nobody {
        let detail = "at least one of user or group must be specified";
        errors.push(FieldError::invalid(&root.child("user"), "", detail));
    }
    if resource.is_object() {
        selectors::validate(resource, &PathRef::root("spec.resourceAttributes"), &mut errors);
    }
    let metadata = object::metadata(review);
    let is_extra =
        |key: &str| key != "managedFields" && !(about == ReviewSubject::AnybodyInNamespace && key == "namespace");
    if metadata.is_some_and(|metadata| metadata.iter().any(|(key, value)| is_extra(key) && !is_nothing(value))) {
        let detail = match about {
            ReviewSubject::AnybodyInNamespace => "must be empty except for namespace",
            ReviewSubject::Anybody | ReviewSubject::Requester => "must be empty",
        };
        errors.push(bad_metadata(review, detail));
    }
    if about == ReviewSubject::AnybodyInNamespace {
        let namespace = text(resource, "namespace");
        if resource.is_object() && namespace != object::meta_text(review, "namespace") {
            let path = PathRef::root("spec.resourceAttributes.namespace");
            errors.push(FieldError::invalid(&path, namespace, "must match metadata.namespace"));
        }
        if path.is_object() {
            let detail = "disallowed on this kind of request";
            errors.push(FieldError::invalid(
                &root.child("nonResourceAttributes"),
                shown(),
                detail,
            ));
        }
    }
    errors
}

/// The complaint about an object's metadata, which is shown in the order of its type.
fn bad_metadata(review: &Value, detail: &str) -> FieldError {
    let ty = Types::builtin().kind(AUTHORIZATION, "v1", "SubjectAccessReview");
    let ty = ty.and_then(|ty| Some(ty.field_named("metadata")?.type_ref()));
    let shown = go_text::json_of(ty, &review["metadata"], &Value::Null);
    FieldError::invalid("metadata", BadValue::verbatim(shown), detail)
}

fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
        _ => false,
    }
}

/// `SelfSubjectRulesReview`.
pub(super) async fn rules(call: &mut Call<'_>) -> Result<HandlerOutput> {
    let review = received(call).await?;
    let namespace = text(&review["spec"], "namespace");
    if namespace.is_empty() {
        return Err(Status::bad_request("no namespace on request"));
    }
    body_kind::validate_review(call, &review).await?;
    let (mut rules, mut errors, mut is_incomplete) = (Vec::new(), Vec::new(), false);
    for mode in call.server.authorization_modes() {
        match mode {
            AuthorizationMode::AlwaysAllow => {
                rules.extend([Rule::resources(["*"], ["*"], ["*"]), Rule::paths(["*"], ["*"])]);
            }
            AuthorizationMode::Node if node_of(call.user).is_some() => {
                is_incomplete = true;
                errors.push("node authorizer does not support user rule resolution".into());
            }
            AuthorizationMode::Webhook(_) => {
                is_incomplete = true;
                errors.push("webhook authorizer does not support user rule resolution".into());
            }
            AuthorizationMode::AlwaysDeny | AuthorizationMode::Node => {}
            AuthorizationMode::Rbac => {
                let (more, why) = call.server.authorizer().rules_for(call.user, namespace);
                rules.extend(more);
                errors.extend(why);
            }
        }
    }
    let mut resources = Vec::new();
    let mut paths = Vec::new();
    for rule in rules {
        if !rule.resources.is_empty() {
            let mut shown = rule.clone();
            shown.non_resource_urls.clear();
            resources.push(shown.to_value());
        }
        if !rule.non_resource_urls.is_empty() {
            paths.push(json!({ "verbs": rule.verbs, "nonResourceURLs": rule.non_resource_urls }));
        }
    }
    let mut status = json!({ "resourceRules": resources, "nonResourceRules": paths, "incomplete": is_incomplete });
    if let Some(errors) = aggregate(errors.iter().map(|error| &**error)) {
        status["evaluationError"] = errors.into();
    }
    let answer = answer(call, json!({}), &status);
    Ok(Reply::value(StatusCode::CREATED, &answer).into())
}

/// `TokenReview`.
pub(super) async fn token(call: &mut Call<'_>) -> Result<HandlerOutput> {
    let mut review = received(call).await?;
    let token = text(&review["spec"], "token");
    if token.is_empty() {
        return Err(Status::bad_request(
            "token is required for TokenReview in authentication",
        ));
    }
    body_kind::validate_review(call, &review).await?;
    let audiences = review["spec"]["audiences"].as_array().filter(|list| !list.is_empty());
    let audiences: Option<Vec<String>> =
        audiences.map(|list| list.iter().filter_map(Value::as_str).map(str::to_owned).collect());
    let status = match call.server.review_header(token, audiences.as_deref()) {
        Ok(reviewed) => json!({
            "authenticated": true,
            "user": user_info(&reviewed.user),
            "audiences": reviewed.audiences,
        }),
        Err(why) if why.is_empty() => json!({ "user": {} }),
        Err(why) => json!({ "user": {}, "error": why }),
    };
    review["status"] = status;
    Ok(Reply::value(StatusCode::CREATED, &review).into())
}

/// `SelfSubjectReview`.
pub(super) async fn myself(call: &mut Call<'_>) -> Result<HandlerOutput> {
    let review = received(call).await?;
    body_kind::validate_review(call, &review).await?;
    let mut answer = answer(call, Value::Null, &json!({ "userInfo": user_info(call.user) }));
    object::set_meta(&mut answer, "creationTimestamp", call.server.clock.stamp());
    Ok(Reply::value(StatusCode::CREATED, &answer).into())
}

/// An answer that says nothing of what was sent.
fn answer(call: &Call<'_>, spec: Value, status: &Value) -> Value {
    let resource = call.resource();
    let mut answer = json!({
        "kind": &*resource.kind,
        "apiVersion": &*resource.api_version,
        "metadata": {},
        "status": status,
    });
    if !spec.is_null() {
        answer["spec"] = spec;
    }
    answer
}

/// A user as the API shows one.
fn user_info(user: &User) -> Value {
    let mut info = Map::new();
    for (key, text) in [("username", &user.name), ("uid", &user.uid)] {
        if !text.is_empty() {
            info.insert(key.into(), text.as_str().into());
        }
    }
    if !user.groups.is_empty() {
        info.insert("groups".into(), user.groups.as_slice().into());
    }
    if !user.extra.is_empty() {
        let extra = user
            .extra
            .iter()
            .map(|(key, values)| (key.clone(), values.as_slice().into()));
        info.insert("extra".into(), Value::Object(extra.collect()));
    }
    Value::Object(info)
}

pub(super) fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}
