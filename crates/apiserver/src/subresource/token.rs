//! `serviceaccounts/token`: a `TokenRequest` is answered with a signed token.

use http::StatusCode;
use jiff::SignedDuration;
use kubewright_kinds::meta;
use kubewright_schema::field::{Error, Errors, Path};
use serde_json::{Value, json};

use crate::call::Call;
use crate::clock;
use crate::decode;
use crate::object::{self, meta_text, set_meta};
use crate::registry::Registry;
use crate::server::Answer;
use crate::status::{About, Result, Status};
use crate::tokens::ISSUER;
use crate::verbs::addressed::place_in_namespace;
use crate::wire::respond::Reply;
use crate::write_options::OptionsKind;

const GROUP: &str = "authentication.k8s.io";
const DEFAULT_SECONDS: i64 = 3600;
const LEAST_SECONDS: i64 = 600;
const MOST_SECONDS: i64 = 1 << 32;

pub(super) fn create(call: &mut Call<'_>) -> Result<Answer> {
    let expected = decode::expected(GROUP, "v1", "TokenRequest")?;
    let (_, mut request) = decode::received(call, OptionsKind::Create, expected)?;
    if let Some(metadata) = object::metadata_mut(&mut request) {
        meta::wipe_system_fields(metadata);
    }
    place_in_namespace(call, &mut request)?;
    if request.pointer("/spec/expirationSeconds").is_none_or(Value::is_null) {
        request["spec"]["expirationSeconds"] = DEFAULT_SECONDS.into();
    }
    let account = call.existing()?;
    check_seconds(&request)?;
    let name = call.target.name.clone();
    let given = meta_text(&request, "name");
    if !given.is_empty() && given != name {
        let path = Path::root("metadata");
        let detail = "must match the service account name if specified";
        let error = Error::invalid(&path.child("name"), given, detail);
        return Err(Status::invalid(GROUP, "TokenRequest", &name, &vec![error]));
    }
    let now = call.server.clock.now();
    let seconds = request
        .pointer("/spec/expirationSeconds")
        .and_then(Value::as_i64)
        .unwrap_or(DEFAULT_SECONDS);
    let until = now.saturating_add(SignedDuration::from_secs(seconds)).unwrap_or(now);
    if request
        .pointer("/spec/audiences")
        .and_then(Value::as_array)
        .is_none_or(Vec::is_empty)
    {
        request["spec"]["audiences"] = json!([ISSUER]);
    }
    let mut private = json!({
        "namespace": call.target.namespace,
        "serviceaccount": { "name": name, "uid": &*account.uid },
    });
    if let Some((kind, reference)) = bound(call, &request)? {
        private[kind] = reference;
    }
    let claims = json!({
        "aud": request["spec"]["audiences"],
        "exp": until.as_second(),
        "iat": now.as_second(),
        "iss": ISSUER,
        "jti": call.server.chance.uid(),
        "kubernetes.io": private,
        "nbf": now.as_second(),
        "sub": format!("system:serviceaccount:{}:{name}", call.target.namespace),
    });
    let token = call
        .server
        .signer
        .sign(&claims)
        .ok_or_else(|| Status::internal("failed to generate token: no signing key"))?;
    set_meta(&mut request, "name", name);
    set_meta(&mut request, "uid", &*account.uid);
    set_meta(&mut request, "creationTimestamp", clock::stamp(now));
    request["status"] = json!({ "token": token, "expirationTimestamp": clock::stamp(until) });
    Ok(Reply::value(StatusCode::CREATED, &request).into())
}

fn check_seconds(request: &Value) -> Result<()> {
    let seconds = request
        .pointer("/spec/expirationSeconds")
        .and_then(Value::as_i64)
        .unwrap_or(DEFAULT_SECONDS);
    let path = Path::root("spec");
    let mut errors = Errors::new();
    if seconds < LEAST_SECONDS {
        let detail = "may not specify a duration less than 10 minutes";
        errors.push(Error::invalid(&path.child("expirationSeconds"), seconds, detail));
    }
    if seconds > MOST_SECONDS {
        let detail = "may not specify a duration larger than 2^32 seconds";
        errors.push(Error::invalid(&path.child("expirationSeconds"), seconds, detail));
    }
    if errors.is_empty() {
        Ok(())
    } else {
        Err(Status::invalid(GROUP, "TokenRequest", "", &errors))
    }
}

/// The object that a token shall not outlive, as the claims name it.
fn bound(call: &Call<'_>, request: &Value) -> Result<Option<(&'static str, Value)>> {
    let Some(reference) = request
        .pointer("/spec/boundObjectRef")
        .filter(|reference| reference.is_object())
    else {
        return Ok(None);
    };
    let text = |key: &str| reference.get(key).and_then(Value::as_str).unwrap_or_default();
    let (plural, claim) = match (text("apiVersion"), text("kind")) {
        ("v1", "Pod") => ("pods", "pod"),
        ("v1", "Secret") => ("secrets", "secret"),
        ("v1", "Node") => ("nodes", "node"),
        (version, kind) => {
            let (group, version) = version.split_once('/').unwrap_or(("", version));
            let message = format!("cannot bind token to object of type {group}/{version}, Kind={kind}");
            return Err(Status::bad_request(message));
        }
    };
    let resource = Registry::builtin().core(plural);
    let namespace = if resource.namespaced {
        call.target.namespace.as_str()
    } else {
        ""
    };
    let record = call
        .server
        .store
        .get(resource.table, &object::key(namespace, text("name")))
        .ok_or_else(|| Status::not_found(resource.about(), text("name")))?;
    let account = call.target.name.as_str();
    if plural == "pods" {
        let pod = object::to_value(resource, &record, record.revision);
        if pod
            .pointer("/spec/serviceAccountName")
            .and_then(Value::as_str)
            .unwrap_or_default()
            != account
        {
            return Err(Status::bad_request(format!(
                "cannot bind token for serviceaccount {account:?} to pod running with different serviceaccount name."
            )));
        }
    }
    let uid = text("uid");
    if !uid.is_empty() && uid != &*record.uid {
        let why = format!(
            "the UID in the bound object reference ({uid}) does not match the UID in record. The object might have been deleted and then recreated"
        );
        // The kind stands here where other conflicts name the resource.
        let about = About {
            group: "",
            resource: &resource.kind,
        };
        return Err(Status::conflict(about, text("name"), &why));
    }
    Ok(Some((claim, json!({ "name": text("name"), "uid": &*record.uid }))))
}
