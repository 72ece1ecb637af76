//! `scale`: the replicas of a workload as an `autoscaling/v1` Scale.

use http::StatusCode;
use kubewright_codec::{json, yaml};
use kubewright_kinds::meta;
use kubewright_kinds::workloads::scale;
use kubewright_merge::{
    self as merge, ConversionError, FieldManager, JsonPatch, Versions, managed, merge_patch, strategic,
};
use kubewright_schema::field::Errors;
use kubewright_schema::{self as schema, TypeRef};
use serde_json::Value;

use crate::call::{Call, record_value};
use crate::decode::{self, Expected};
use crate::manage;
use crate::object::{meta_text, remove_meta, set_meta};
use crate::server::Answer;
use crate::status::{Result, Status};
use crate::verbs::addressed::check_name;
use crate::verbs::addressed::place_in_namespace;
use crate::verbs::patch::{Language, refusal};
use crate::wire::respond::Reply;
use crate::write::{self, Written};
use crate::write_options::{OptionsKind, WriteOptions};

/// The version a Scale is served at.
const SCALE_VERSION: &str = "autoscaling/v1";

pub(super) fn get(call: &Call<'_>) -> Result<Answer> {
    let record = call.existing()?;
    let object = record_value(call.resource(), &record, record.revision);
    Ok(Reply::value(StatusCode::OK, &scale::of(&object)).into())
}

pub(super) fn update(call: &mut Call<'_>) -> Result<Answer> {
    let (options, mut wanted) = decode::received(call, OptionsKind::Update, expected()?)?;
    place_in_namespace(call, &mut wanted)?;
    check_name(call, &wanted)?;
    let ty = expected()?.ty;
    replace(call, &options, |live| {
        Ok(merge::update(
            &ScaleKind(ty),
            &manager(&options),
            Some(live),
            wanted.clone(),
        ))
    })
}

pub(super) fn patch(call: &mut Call<'_>) -> Result<Answer> {
    let language = Language::of(call)?;
    let kind = if language == Language::Apply {
        OptionsKind::Apply
    } else {
        OptionsKind::Patch
    };
    let options = WriteOptions::parse(call.query, kind, call.header(http::header::USER_AGENT))?;
    let body = call.body.clone();
    let ty = expected()?.ty;
    replace(call, &options, |live| {
        if language == Language::Apply {
            let applied = yaml::decode(&body)
                .map_err(|error| Status::bad_request(format!("error decoding YAML: {error}")))?
                .value;
            let merged = merge::apply(&ScaleKind(ty), &manager(&options), Some(live), &applied, options.force)
                .map_err(manage::refusal)?;
            return typed(ty, merged);
        }
        let malformed = |error: json::SyntaxError| Status::bad_request(format!("error decoding patch: {error}"));
        let patch = json::decode(&body).map_err(malformed)?.value;
        let patched = match language {
            Language::Json => JsonPatch::decode(patch, true).and_then(|patch| patch.apply(live.clone())),
            Language::Merge => merge_patch::apply(live.clone(), patch, true),
            _ => strategic::apply(live.clone(), patch, ty),
        };
        let patched = typed(ty, patched.map_err(|error| refusal(&error))?)?;
        Ok(merge::update(&ScaleKind(ty), &manager(&options), Some(live), patched))
    })
}

fn typed(ty: TypeRef<'static>, value: Value) -> Result<Value> {
    let decoded = schema::decode(ty, value, None).map_err(|error| Status::bad_request(error.to_string()))?;
    let mut scale = decoded.value;
    scale["kind"] = "Scale".into();
    scale["apiVersion"] = SCALE_VERSION.into();
    Ok(scale)
}

fn expected() -> Result<Expected> {
    decode::expected("autoscaling", "v1", "Scale")
}

/// Writers through `scale`; upstream keeps no time for them.
fn manager(options: &WriteOptions) -> FieldManager<'_> {
    FieldManager {
        name: &options.manager,
        api_version: SCALE_VERSION,
        kind: "Scale",
        subresource: "scale",
        time: "",
    }
}

/// Writes what `make` makes of the live Scale into the workload, owners included.
fn replace(
    call: &mut Call<'_>,
    options: &WriteOptions,
    mut make: impl FnMut(&Value) -> Result<Value>,
) -> Result<Answer> {
    let resource = call.resource();
    let paths = [(resource.api_version.as_str(), Some("spec.replicas"))];
    let written = write::update(call, options.dry_run, false, |call, live| {
        let live = live.ok_or_else(|| Status::not_found(resource.about(), &call.target.name))?;
        let owners = live.pointer("/metadata/managedFields").cloned().unwrap_or_default();
        let undecodable = |error: managed::DecodeError| Status::internal(&error.to_string());
        let mut shown = scale::of(live);
        if let Some(owners) = managed::scale_managed_fields(&owners, &paths).map_err(undecodable)? {
            set_meta(&mut shown, "managedFields", owners);
        }
        let wanted = make(&shown)?;
        let mut errors = Errors::new();
        meta::validate_create_generic(&wanted["metadata"], true, &mut errors);
        scale::validate(&wanted, &mut errors);
        if !errors.is_empty() {
            return Err(Status::invalid(
                "autoscaling",
                "Scale",
                meta_text(&wanted, "name"),
                &errors,
            ));
        }
        let mut new = live.clone();
        scale::apply(&wanted, &mut new);
        let through = wanted.pointer("/metadata/managedFields").cloned().unwrap_or_default();
        let merged = managed::parent_managed_fields(&owners, &through, &resource.api_version, &paths);
        match merged.map_err(undecodable)? {
            Some(owners) => set_meta(&mut new, "managedFields", owners),
            None => remove_meta(&mut new, "managedFields"),
        }
        Ok(new)
    })?;
    let (code, object) = match written {
        Written::Created(record) => (StatusCode::CREATED, record_value(resource, &record, record.revision)),
        Written::Updated(record) => (StatusCode::OK, record_value(resource, &record, record.revision)),
        Written::Deleted(object) | Written::Dry { object, .. } => (StatusCode::OK, object),
    };
    Ok(Reply::value(code, &scale::of(&object)).into())
}

/// The Scale as server-side apply knows it: one version.
struct ScaleKind(TypeRef<'static>);

impl Versions<'static> for ScaleKind {
    type Topology = TypeRef<'static>;

    fn topology(&self, api_version: &str) -> Option<TypeRef<'static>> {
        (api_version == SCALE_VERSION).then_some(self.0)
    }

    fn convert(&self, _object: &Value, _api_version: &str) -> std::result::Result<Value, ConversionError> {
        Err(ConversionError::MissingVersion)
    }

    fn zero(&self, _api_version: &str) -> Value {
        typed(self.0, Value::Object(serde_json::Map::new())).unwrap_or_default()
    }
}
