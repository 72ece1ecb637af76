//! `scale`: the replicas of a workload as an `autoscaling/v1` Scale.

use std::sync::Arc;

use http::StatusCode;
use kubewright_codec::{json, yaml};
use kubewright_merge::{
    self as merge, ConversionError, FieldManager, JsonPatch, Versions, managed, merge_patch, strategic,
};
use kubewright_schema::{self as schema, TypeRef};
use kubewright_store::Record;
use serde_json::Value;

use crate::custom::conversion::with_conversions;
use crate::object::{differ_by_owners_only, meta_text, remove_meta, set_meta};
use crate::request::HandlerOutput;
use crate::request::call::{Call, record_value};
use crate::request::write_options::{OptionsKind, WriteOptions};
use crate::verbs::patch::{Language, refusal};
use crate::wire::respond::Reply;
use crate::wire::status::{Result, Status};
use crate::write::addressed::{check_is_named, check_name, place_in_namespace};
use crate::write::decode::{self, ExpectedKind};
use crate::write::go_text;
use crate::write::managed_fields;
use crate::write::scale::{ScaleWrite, UNSET, check, of, write_into};
use crate::write::{self, IfMissing, Mode, Proposal, Written};

/// The version a Scale is served at.
const SCALE_VERSION: &str = "autoscaling/v1";

pub(super) async fn get(call: &Call<'_>) -> Result<HandlerOutput> {
    let record = call.existing()?;
    let resource = call.resource();
    let object = with_conversions(call.server, resource, |cache| {
        record_value(resource, &record, record.revision, cache)
    })
    .await?;
    let scale = of(call.resource(), &object)?;
    if let (Some(paths), None) = (call.resource().scale_paths(), scale.pointer("/spec/replicas"))
        && paths.read(&object).is_ok_and(|scaled| scaled.wanted.is_none())
    {
        let path = kubewright_apimachinery::go::quote(&paths.spec_replicas_path);
        return Err(Status::internal(&format!(
            "the spec replicas field {path} does not exist"
        )));
    }
    Ok(Reply::value(StatusCode::OK, &scale).into())
}

pub(super) async fn update(call: &mut Call<'_>) -> Result<HandlerOutput> {
    let is_custom = call.resource().custom().is_some();
    let received = decode::received(call, OptionsKind::Update, expected()?);
    let (options, mut wanted) = received.map_err(|mut status| {
        // A codec of custom resources has no words for the types of built-ins.
        if is_custom && status.message.contains("cannot be handled as a Scale: no kind") {
            status.message =
                "no kind is registered for the type v1.Scale in scheme \"pkg/runtime/scheme.go:111\"".into();
        }
        status
    })?;
    place_in_namespace(call, &mut wanted)?;
    check_name(call, &wanted)?;
    let ty = scale_type()?;
    replace(call, &options, |live| {
        Ok(merge::update(
            &ScaleKind(ty),
            &manager(&options),
            Some(live),
            wanted.clone(),
        ))
    })
    .await
}

pub(super) async fn patch(call: &mut Call<'_>) -> Result<HandlerOutput> {
    let language = Language::of(call)?;
    let options = language.write_options(call)?;
    let body = call.body.clone();
    let resource = call.resource();
    let name = call.target.name.to_owned();
    let ty = scale_type()?;
    replace(call, &options, |live| {
        if language == Language::Apply {
            let applied = yaml::decode(&body)
                .map_err(|error| Status::bad_request(format!("error decoding YAML: {error}")))?
                .value;
            let merged = merge::apply(&ScaleKind(ty), &manager(&options), Some(live), &applied, options.force)
                .map_err(managed_fields::refusal)?;
            // Upstream makes an object of what it merged only when that differs from the live one, and of a Scale of a
            // custom resource it cannot.
            if resource.custom().is_some() && !differ_by_owners_only(&merged, live) {
                let (namespace, name) = (meta_text(&applied, "namespace"), meta_text(&applied, "name"));
                let message = format!(
                    "failed to convert new object ({namespace}/{name}; {SCALE_VERSION}, Kind=Scale) to proper version: \
                     request to convert CR to an invalid group/version: {SCALE_VERSION}"
                );
                return Err(Status::new(StatusCode::INTERNAL_SERVER_ERROR, "", message));
            }
            return typed(ty, merged);
        }
        let malformed = |error: json::SyntaxError| Status::bad_request(format!("error decoding patch: {error}"));
        let patch = json::decode(&body).map_err(malformed)?.value;
        let patched = match language {
            Language::Json => JsonPatch::decode(patch, true).and_then(|patch| patch.apply(live.clone())),
            Language::Merge => merge_patch::apply(live.clone(), patch, true),
            _ => strategic::apply(live.clone(), patch, ty),
        };
        let merged = patched.map_err(|error| refusal(&error))?;
        let patched = typed(ty, merged.clone()).map_err(|refused| {
            let why = match language {
                Language::Strategic => go_text::restoring(&refused.message, ty, &merged),
                _ => refused.message,
            };
            language.unreadable(Some(ty), &body, live, &merged, why)
        })?;
        check_is_named(&patched, &name)?;
        Ok(merge::update(&ScaleKind(ty), &manager(&options), Some(live), patched))
    })
    .await
}

fn typed(ty: TypeRef<'static>, value: Value) -> Result<Value> {
    let decoded = schema::decode(ty, value, None).map_err(|error| Status::bad_request(error.to_string()))?;
    let mut scale = decoded.value;
    scale["kind"] = "Scale".into();
    scale["apiVersion"] = SCALE_VERSION.into();
    Ok(scale)
}

fn expected() -> Result<ExpectedKind<'static>> {
    decode::expected("autoscaling", "v1", "Scale")
}

fn scale_type() -> Result<TypeRef<'static>> {
    schema::Types::builtin()
        .kind("autoscaling", "v1", "Scale")
        .ok_or_else(|| Status::internal("the table of facts has no Scale"))
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
async fn replace(
    call: &mut Call<'_>,
    options: &WriteOptions,
    mut make: impl FnMut(&Value) -> Result<Value> + Send,
) -> Result<HandlerOutput> {
    let (server, resource) = (call.server, call.resource());
    let paths = resource.replicas_paths();
    let paths: Vec<(&str, Option<&str>)> = paths.iter().map(|(at, path)| (at.as_str(), path.as_deref())).collect();
    let mode = Mode {
        dry_run: options.dry_run,
        if_missing: IfMissing::Refuse,
    };
    let written = write::update(call, mode, |call, live, _| {
        let live = live.ok_or_else(|| Status::not_found(resource.about(), call.target.name))?;
        let owners = live.pointer("/metadata/managedFields").cloned().unwrap_or_default();
        let undecodable = |error: managed::DecodeError| Status::internal(&error.to_string());
        let mut shown = of(resource, live)?;
        if let Some(paths) = resource.scale_paths()
            && paths.read(live).is_ok_and(|scaled| scaled.wanted.is_none())
        {
            shown["spec"]["replicas"] = UNSET.into();
        }
        if let Some(owners) = managed::scale_managed_fields(&owners, &paths).map_err(undecodable)? {
            set_meta(&mut shown, "managedFields", owners);
        }
        let wanted = make(&shown)?;
        // Only webhooks look at a Scale, and those that may change it do so before it is checked.
        let scale = if call.server.has_dynamic_admission() {
            let mut sent = wanted.clone();
            stamp_owners(&mut sent, &call.server.clock.stamp());
            Some(ScaleWrite {
                wanted: sent,
                live: shown,
            })
        } else {
            check(resource, &wanted)?;
            None
        };
        let mut new = live.clone();
        write_into(resource, &wanted, &mut new)?;
        let through = wanted.pointer("/metadata/managedFields").cloned().unwrap_or_default();
        let merged = managed::parent_managed_fields(&owners, &through, &resource.api_version, &paths);
        match merged.map_err(undecodable)? {
            Some(owners) => set_meta(&mut new, "managedFields", owners),
            None => remove_meta(&mut new, "managedFields"),
        }
        Ok(Proposal { object: new, scale })
    })
    .await?;
    let shown = |record: Arc<Record>| {
        with_conversions(server, resource, move |cache| {
            record_value(resource, &record, record.revision, cache)
        })
    };
    let (code, object) = match written {
        Written::Created(record) => (StatusCode::CREATED, shown(record).await?),
        Written::Updated(record) => (StatusCode::OK, shown(record).await?),
        Written::Deleted(object) | Written::Dry { object, .. } => (StatusCode::OK, object),
    };
    Ok(Reply::value(code, &of(resource, &object)?).into())
}

/// Gives new owners the time, which only those who are shown the Scale see.
fn stamp_owners(scale: &mut Value, time: &str) {
    let Some(Value::Array(owners)) = scale.pointer_mut("/metadata/managedFields") else {
        return;
    };
    for owner in owners.iter_mut().filter_map(Value::as_object_mut) {
        owner.entry("time").or_insert_with(|| time.into());
    }
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
