//! `DeleteOptions`, in a body or in the query (D1, D2).

use kubewright_apimachinery::field::{Errors, FieldError, PathRef};
use kubewright_apimachinery::go::quote;
use kubewright_apimachinery::go::value::json_kind;
use kubewright_codec::json;
use kubewright_schema::{Types, decode, protobuf};
use serde_json::Value;

use crate::request::call::Call;
use crate::request::write_options::check_dry_run;
use crate::wire::negotiate::{self, Encoding};
use crate::wire::status::{Result, Status};

const DELETE_OPTIONS: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions";

/// How a deletion is meant.
#[derive(Clone, Debug, Default)]
pub(crate) struct DeleteOptions {
    pub(crate) grace_period_seconds: Option<i64>,
    pub(crate) uid: Option<String>,
    pub(crate) resource_version: Option<String>,
    pub(crate) orphan_dependents: Option<bool>,
    pub(crate) propagation: Option<Propagation>,
    pub(crate) dry_run: bool,
}

/// What becomes of dependents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Propagation {
    Background,
    Foreground,
    Orphan,
}

impl DeleteOptions {
    pub(crate) fn parse(call: &Call<'_>) -> Result<DeleteOptions> {
        let fields = if call.body.is_empty() {
            from_query(call)?
        } else {
            from_body(call)?
        };
        fields.check()
    }
}

/// The options as they were given.
#[derive(Default)]
struct RawDeleteOptions {
    grace_period_seconds: Option<i64>,
    uid: Option<String>,
    resource_version: Option<String>,
    orphan_dependents: Option<bool>,
    propagation: Option<String>,
    dry_run: Vec<String>,
}

fn from_query(call: &Call<'_>) -> Result<RawDeleteOptions> {
    let query = call.query;
    Ok(RawDeleteOptions {
        grace_period_seconds: query.integer("gracePeriodSeconds")?,
        orphan_dependents: query.flag("orphanDependents"),
        propagation: query.get("propagationPolicy").map(str::to_owned),
        dry_run: query.all("dryRun").into_iter().map(str::to_owned).collect(),
        ..RawDeleteOptions::default()
    })
}

fn from_body(call: &Call<'_>) -> Result<RawDeleteOptions> {
    let value = match negotiate::input(call.headers)? {
        Encoding::Json => {
            json::decode(&call.body)
                .map_err(|error| Status::bad_request(format!("couldn't get version/kind; json parse error: {error}")))?
                .value
        }
        Encoding::Yaml => {
            kubewright_codec::yaml::decode(&call.body)
                .map_err(|error| Status::bad_request(error.to_string()))?
                .value
        }
        Encoding::Protobuf => from_protobuf(&call.body)?,
    };
    if !value.is_object() && !value.is_null() {
        let found = json_kind(&value);
        return Err(Status::bad_request(format!(
            "couldn't get version/kind; json parse error: json: cannot unmarshal {found} into Go value of type {}",
            crate::write::decode::TYPE_META
        )));
    }
    let kind = value.get("kind").and_then(Value::as_str).unwrap_or("DeleteOptions");
    if !matches!(kind, "DeleteOptions" | "") {
        let version = value.get("apiVersion").and_then(Value::as_str).unwrap_or("v1");
        let (kind, version) = (quote(kind), quote(version));
        return Err(Status::bad_request(format!(
            "no kind {kind} is registered for version {version} in scheme \"pkg/runtime/scheme.go:111\""
        )));
    }
    if let Some(logged) = call.annotations.logged()
        && value.is_object()
    {
        logged.delete_options(&value);
    }
    given(value)
}

/// The options' fields are only read once they are known to be options.
fn from_protobuf(body: &[u8]) -> Result<Value> {
    let malformed = |error: protobuf::ProtobufError| Status::bad_request(error.to_string());
    let envelope = protobuf::Envelope::open(body).map_err(malformed)?;
    let is_options = matches!(envelope.kind.as_str(), "" | "DeleteOptions");
    let mut value = match Types::builtin().named(DELETE_OPTIONS) {
        Some(ty) if is_options => protobuf::decode(ty, envelope.raw).map_err(malformed)?,
        _ => Value::Object(serde_json::Map::new()),
    };
    value["kind"] = envelope.kind.into();
    value["apiVersion"] = envelope.api_version.into();
    Ok(value)
}

/// `DeleteOptions` that came inside another object.
pub(crate) fn of_value(value: &Value) -> Result<DeleteOptions> {
    given(value.clone())?.check()
}

fn given(value: Value) -> Result<RawDeleteOptions> {
    let ty = Types::builtin().named(DELETE_OPTIONS);
    let value = match ty {
        Some(ty) => {
            decode(ty, value, None)
                .map_err(|error| Status::bad_request(error.to_string()))?
                .value
        }
        None => value,
    };
    let text = |pointer: &str| value.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
    Ok(RawDeleteOptions {
        grace_period_seconds: value.get("gracePeriodSeconds").and_then(Value::as_i64),
        uid: text("/preconditions/uid"),
        resource_version: text("/preconditions/resourceVersion"),
        orphan_dependents: value.get("orphanDependents").and_then(Value::as_bool),
        propagation: text("/propagationPolicy"),
        dry_run: value
            .get("dryRun")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(|value| value.as_str().map(str::to_owned))
            .collect(),
    })
}

impl RawDeleteOptions {
    fn check(self) -> Result<DeleteOptions> {
        let mut errors = Errors::new();
        let path = PathRef::root("propagationPolicy");
        if let (Some(propagation), Some(_)) = (&self.propagation, self.orphan_dependents) {
            let detail = "orphanDependents and deletionPropagation cannot be both set";
            errors.push(FieldError::invalid(&path, propagation.as_str(), detail));
        }
        let propagation = match self.propagation.as_deref() {
            None => None,
            Some("Background") => Some(Propagation::Background),
            Some("Foreground") => Some(Propagation::Foreground),
            Some("Orphan") => Some(Propagation::Orphan),
            Some(other) => {
                let supported = ["Foreground", "Background", "Orphan", "nil"];
                errors.push(FieldError::not_supported(&path, other, supported));
                None
            }
        };
        let dry_run: Vec<&str> = self.dry_run.iter().map(String::as_str).collect();
        let dry_run = check_dry_run(&dry_run, &mut errors);
        if !errors.is_empty() {
            return Err(Status::invalid_options("DeleteOptions", &errors));
        }
        Ok(DeleteOptions {
            grace_period_seconds: self.grace_period_seconds,
            uid: self.uid,
            resource_version: self.resource_version,
            orphan_dependents: self.orphan_dependents,
            propagation,
            dry_run,
        })
    }
}
