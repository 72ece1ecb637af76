//! `patch`: JSON patch, merge patch, strategic merge patch and server-side apply (W3–W6, S1–S14).

use http::{HeaderMap, StatusCode};
use kubewright_apimachinery::field::{FieldError, PathRef};
use kubewright_apimachinery::go::value::json_kind;
use kubewright_codec::{json, strict, yaml};
use kubewright_merge::{JsonPatch, PatchError, merge_patch, strategic};
use kubewright_schema::{self as schema, TypeRef};
use serde_json::Value;

use super::answer::{at_version, reply};
use crate::custom::conversion::{ConversionCache, Unfinished};
use crate::custom::empties;
use crate::object::{differ_by_owners_only, meta_text, set_meta};
use crate::registry::{BuiltInId, Registry, Resource, convert};
use crate::request::call::Call;
use crate::request::write_options::{FieldValidation, OptionsKind, WriteOptions};
use crate::wire::negotiate::{joined, media_type};
use crate::wire::respond::Reply;
use crate::wire::status::{Details, Result, Status};
use crate::write::addressed::{check_name, place_in_namespace, undeterminable};
use crate::write::decode::{self, ExpectedKind, KindChange, TypeDefect};
use crate::write::defaults::default;
use crate::write::effects::is_definition;
use crate::write::go_text;
use crate::write::integers;
use crate::write::managed_fields::FieldWriter;
use crate::write::{self, IfMissing, Mode};

/// What a patch is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Language {
    Json,
    Merge,
    Strategic,
    Apply,
}

impl Language {
    pub(crate) fn of(call: &Call<'_>) -> Result<Language> {
        Self::named(call.headers, call.resource())
    }

    /// The language of a patch of this resource, by the type of its body.
    pub(crate) fn named(headers: &HeaderMap, resource: &Resource) -> Result<Language> {
        match media_type(&joined(headers, http::header::CONTENT_TYPE)) {
            "application/json-patch+json" => Ok(Language::Json),
            "application/merge-patch+json" => Ok(Language::Merge),
            "application/strategic-merge-patch+json" if resource.custom().is_none() => Ok(Language::Strategic),
            "application/apply-patch+yaml" => Ok(Language::Apply),
            _ if resource.custom().is_some() => Err(Status::unsupported_media_type(
                "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml",
            )),
            _ => Err(Status::new(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "UnsupportedMediaType",
                "415: Unsupported Media Type",
            )
            .with_details(Details::default())),
        }
    }

    /// The options of a patch in this language.
    pub(crate) fn write_options(self, call: &Call<'_>) -> Result<WriteOptions> {
        let kind = if self == Language::Apply {
            OptionsKind::Apply
        } else {
            OptionsKind::Patch
        };
        WriteOptions::parse(call.query, kind, call.header(http::header::USER_AGENT))
    }
}

/// The version that a document says it has.
fn meta_version(object: &Value) -> &str {
    object.get("apiVersion").and_then(Value::as_str).unwrap_or_default()
}

/// What is said of a patch that leaves a list.
const NO_KIND_IN_A_LIST: &str = "couldn't get version/kind; json parse error: json: cannot unmarshal array into Go value of type \
     struct { APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; Kind string \"json:\\\"kind,omitempty\\\"\" }";

impl Language {
    /// The refusal of a patch whose result cannot be read as a type.
    pub(crate) fn unreadable(
        self,
        ty: Option<TypeRef<'_>>,
        body: &[u8],
        live: &Value,
        merged: &Value,
        why: String,
    ) -> Box<Status> {
        let patch = json::decode(body).unwrap_or_default();
        let shown = match (self, ty) {
            (Language::Strategic, Some(ty)) => strategic::printed_after_merge(live, &patch.value, ty),
            (Language::Json, _) => go_text::json_after_patch(ty, merged, &patch.value),
            (Language::Merge, _) => go_text::json_after_merge(ty, merged, &patch),
            _ => go_text::json_of(ty, merged, &patch.value),
        };
        let error = FieldError::invalid(&PathRef::root("patch"), shown, why);
        Status::invalid("", "", "", &vec![error])
    }
}

pub(crate) async fn patch(call: &mut Call<'_>) -> Result<Reply> {
    let language = Language::of(call)?;
    let options = language.write_options(call)?;
    let time = call.server.clock.stamp();
    let body = call.body.clone();
    if let Some(logged) = call.annotations.logged() {
        logged.request_patch(&body);
    }
    let patch = Patch {
        language,
        writer: FieldWriter {
            resource: call.resource(),
            subresource: call.target.subresource,
            manager: &options.manager,
            time: &time,
        },
        options: &options,
        body: &body,
    };
    let may_create = language == Language::Apply && call.target.subresource.is_none();
    let mode = Mode {
        dry_run: options.dry_run,
        if_missing: IfMissing::create_if(may_create),
    };
    let mut warned = false;
    let written = write::update(call, mode, |call, live, cache| {
        let resource = call.resource();
        let at_request = live.map(|live| at_version(resource, live));
        let mut warnings = Vec::new();
        let new = match (language, at_request.as_deref()) {
            (Language::Apply, live) => patch.applied(live, &mut warnings, cache)?,
            (_, None) => return Err(Status::not_found(resource.about(), call.target.name).into()),
            (_, Some(live)) => {
                let patched = patch.patched(live, &mut warnings);
                if patched.is_err() {
                    call.warnings.append(&mut warnings);
                }
                patch.writer.update(Some(live), patched?, cache)?
            }
        };
        if !warned {
            call.warnings.extend(warnings);
            warned = true;
        }
        Ok(checked(call, live, new)?)
    })
    .await?;
    reply(call, written).await
}

/// The patched object must still be the one in the path (H4, S14).
fn checked(call: &Call<'_>, live: Option<&Value>, mut new: Value) -> Result<Value> {
    let uid = meta_text(&new, "uid");
    if live.is_none() && !uid.is_empty() {
        let why = format!("uid mismatch: the provided object specified uid {uid}, and no existing object was found");
        return Err(Status::conflict(call.resource().about(), call.target.name, &why));
    }
    place_in_namespace(call, &mut new)?;
    check_name(call, &new)?;
    call.resource().to_stored(&mut new);
    Ok(new)
}

/// A patch, and how it is to be read.
struct Patch<'a> {
    language: Language,
    writer: FieldWriter<'a>,
    options: &'a WriteOptions,
    body: &'a [u8],
}

impl Patch<'_> {
    /// The live object with a patch applied, decoded and defaulted.
    fn patched(&self, live: &Value, warnings: &mut Vec<String>) -> Result<Value> {
        let name = meta_text(live, "name").to_owned();
        let (language, resource, body) = (self.language, self.writer.resource, self.body);
        let validation = self.options.validation;
        let strictly = validation != FieldValidation::Ignore;
        let syntax = |error: String| match language {
            Language::Strategic => Status::bad_request(error),
            _ if strictly => Status::bad_request(format!("error decoding patch: {error}")),
            Language::Merge => Status::bad_request("Invalid JSON Patch"),
            _ => Status::bad_request(error),
        };
        let mut decoded = json::decode(body).map_err(|error| syntax(error.to_string()))?;
        if let Some(why) = decode::too_deep(&decoded).filter(|_| keeps_depth(resource)) {
            return Err(Status::bad_request(why));
        }
        let patch = std::mem::take(&mut decoded.value);
        let mut complaints = Vec::new();
        let merged = match language {
            Language::Json => {
                let patch = JsonPatch::decode(patch, strictly).map_err(|error| refusal(&error))?;
                if strictly {
                    let found = strict::complaints(&decoded, patch.unknown_fields(), Some(body));
                    complaints.extend(found.into_iter().map(|complaint| format!("json patch {complaint}")));
                }
                patch.apply(live.clone()).map_err(|error| refusal(&error))?
            }
            Language::Merge => {
                if let Some(why) = decoded.range_error().filter(|_| strictly) {
                    return Err(syntax(why));
                }
                complaints.extend(strict::complaints(&decoded, &[], Some(body)));
                merge_patch::apply(live.clone(), patch, strictly).map_err(|error| refusal(&error))?
            }
            Language::Strategic | Language::Apply => {
                if let Some(why) = decoded.range_error() {
                    return Err(syntax(why));
                }
                complaints.extend(strict::complaints(&decoded, &[], Some(body)));
                match resource.ty() {
                    Some(ty) => strategic::apply(live.clone(), patch, ty).map_err(|error| refusal(&error))?,
                    None => live.clone(),
                }
            }
        };
        // An empty list in the metadata of a custom resource is dropped when that is decoded, and says nothing then.
        let resets = resource.custom().is_none() && decode::resets_managed_fields(&merged);
        let in_words = |why: String| language.unreadable(resource.ty(), body, live, &merged, why);
        // Without a version, upstream reads the document as its internal type, which has no field of that spelling: not even the name.
        if language != Language::Strategic
            && resource.custom().is_none()
            && meta_version(&merged).is_empty()
            && decode::kind_changed(&merged, ExpectedKind::of(resource)).is_some()
        {
            if merged.is_array() {
                return Err(in_words(NO_KIND_IN_A_LIST.to_owned()));
            }
            if let Some(why) = decode::type_is_no_text(&merged) {
                return Err(in_words(why));
            }
            if strictly {
                let fields = merged.as_object().into_iter().flatten().map(|(field, _)| field);
                let unknown = fields.filter(|field| !["apiVersion", "kind"].contains(&field.as_str()));
                complaints.extend(
                    unknown.map(|field| format!("unknown field {}", kubewright_apimachinery::go::quote(field))),
                );
                if validation == FieldValidation::Strict {
                    return Err(in_words(format!("strict decoding error: {}", complaints.join(", "))));
                }
                warnings.append(&mut complaints);
            }
            return Err(undeterminable(&name));
        }
        // A patch may say another version of the kind: what it leaves is read in that one.
        let mut said = resource;
        if language != Language::Strategic && resource.custom().is_none() {
            match decode::kind_changed(&merged, ExpectedKind::of(resource)) {
                Some(KindChange::Refused(why)) => return Err(in_words(why)),
                Some(KindChange::Version { group, version }) => {
                    let served = Registry::builtin().find(group, version, &resource.plural);
                    said = served
                        .filter(|said| said.table == resource.table)
                        .map_or(resource, |said| &**said);
                }
                None => {}
            }
        }
        if resource.custom().is_some()
            && let Some(defect) = decode::type_defect(&merged)
        {
            return Err(match defect {
                TypeDefect::Unreadable(why) => in_words(why),
                TypeDefect::MissingVersion => {
                    // Metadata is read before the version is missed.
                    let mut whole = merged.clone();
                    whole["kind"] = (*resource.kind).into();
                    whole["apiVersion"] = resource.api_version.as_str().into();
                    match resource.decode(whole, None) {
                        Err(why) => in_words(why),
                        Ok(_) if meta_text(&merged, "name").is_empty() => undeterminable(&name),
                        Ok(_) => Status::internal("Object 'apiVersion' is missing in 'object has no apiVersion field'"),
                    }
                }
            });
        }
        let mut converted = merged.clone();
        if let Some(ty) = said.ty().filter(|_| language == Language::Strategic) {
            integers::cut(ty, &mut converted);
        }
        let spelled = go_text::SpelledNumbers(&decoded);
        let source: Option<&dyn schema::Source> = match language {
            Language::Merge => Some(&spelled),
            _ => None,
        };
        let mut typed = said.decode(converted, source).map_err(|why| {
            in_words(match said.ty() {
                Some(ty) if language == Language::Strategic => go_text::restoring(&why, ty, &merged),
                _ => why,
            })
        })?;
        if strictly {
            if let Some(ty) = said.ty().filter(|_| language == Language::Json) {
                let operations = json::decode(self.body).map(|decoded| decoded.value).unwrap_or_default();
                go_text::order_unknown(ty, &operations, &mut typed.unknown);
            }
            complaints.extend(
                typed
                    .unknown
                    .iter()
                    .map(|path| format!("unknown field {}", kubewright_apimachinery::go::quote(path))),
            );
            if !complaints.is_empty() {
                if validation == FieldValidation::Strict {
                    let why = format!("strict decoding error: {}", complaints.join(", "));
                    return Err(in_words(why));
                }
                warnings.extend(complaints);
            }
        }
        let mut value = typed.value;
        if let Some(ty) = said.ty() {
            schema::keep_empties(ty, &merged, &mut value);
            if resource.is(BuiltInId::CustomResourceDefinitions) {
                empties::restore(&merged, &mut value);
            }
        }
        if resets {
            set_meta(&mut value, "managedFields", Value::Array(Vec::new()));
        }
        stamp_type(said, &mut value);
        default(said, &mut value);
        if said.api_version != resource.api_version {
            convert::between(&mut value, resource);
            stamp_type(resource, &mut value);
        }
        Ok(value)
    }

    /// The live object with a configuration applied, defaulted again.
    fn applied(
        &self,
        live: Option<&Value>,
        warnings: &mut Vec<String>,
        cache: &ConversionCache,
    ) -> std::result::Result<Value, Unfinished> {
        let (resource, options, body) = (self.writer.resource, self.options, self.body);
        let decoded =
            yaml::decode(body).map_err(|error| in_yaml(&format!("error converting YAML to JSON: {error}")))?;
        if let Some(why) = decode::too_deep(&decoded).filter(|_| keeps_depth(resource)) {
            return Err(in_yaml(&why).into());
        }
        if !decoded.value.is_object() && !decoded.value.is_null() {
            let kind = json_kind(&decoded.value);
            return Err(in_yaml(&format!(
                "error unmarshaling JSON: while decoding JSON: json: cannot unmarshal {kind} into Go value of type \
                 map[string]interface {{}}"
            ))
            .into());
        }
        let mut new = self.writer.apply(live, &decoded.value, options.force, cache)?;
        if options.validation != FieldValidation::Ignore
            && let Some(complaint) = decoded.already_set
        {
            if options.validation == FieldValidation::Strict {
                let message = format!("error strict decoding YAML: error converting YAML to JSON: {complaint}");
                return Err(Status::bad_request(message).into());
            }
            warnings.extend(strict::warnings(vec![complaint]));
        }
        // An apply that changes nothing leaves the object as it was read, also where that lacks a default of this version.
        if resource.custom().is_some() && live.is_some_and(|live| differ_by_owners_only(live, &new)) {
            return Ok(new);
        }
        if let Some(ty) = resource.ty() {
            integers::cut(ty, &mut new);
        }
        // Merging knows the schema; the typed form also canonicalises and drops what is empty.
        let typed = match resource.custom() {
            Some(version) => version.decode_applied(new.clone()),
            None => resource.decode(new.clone(), None).map(|decoded| {
                let mut value = decoded.value;
                if let Some(ty) = resource.ty() {
                    schema::keep_empties(ty, &new, &mut value);
                }
                value
            }),
        };
        new = typed.map_err(|why| {
            let why = match resource.ty() {
                Some(ty) => go_text::restoring(&why, ty, &decoded.value),
                None => why,
            };
            let type_name = format!("{}/{}, Kind={}", resource.group, resource.version, resource.kind);
            let (namespace, name) = (
                meta_text(&decoded.value, "namespace"),
                meta_text(&decoded.value, "name"),
            );
            let message = format!(
                "failed to convert new object ({namespace}/{name}; {type_name}) to proper version: unable to convert \
                 unstructured object to {type_name}: {why}"
            );
            Status::new(StatusCode::INTERNAL_SERVER_ERROR, "", message)
        })?;
        stamp_type(resource, &mut new);
        default(resource, &mut new);
        Ok(new)
    }
}

/// Whether cutting a document short would lose what is its sender's own: a custom resource, or a schema.
fn keeps_depth(resource: &Resource) -> bool {
    resource.custom().is_some() || is_definition(resource)
}

fn in_yaml(why: &str) -> Box<Status> {
    Status::bad_request(format!("error decoding YAML: {why}"))
}

/// A custom resource keeps the type it says it has, which its rules judge.
fn stamp_type(resource: &Resource, value: &mut Value) {
    if let Some(object) = value.as_object_mut().filter(|_| resource.custom().is_none()) {
        object.insert("kind".into(), (*resource.kind).into());
        object.insert("apiVersion".into(), resource.api_version.as_str().into());
    }
}

pub(crate) fn refusal(error: &PatchError) -> Box<Status> {
    let message = error.to_string();
    match error {
        PatchError::Malformed(_) => Status::bad_request(message),
        PatchError::TooLarge(_) => Status::too_large(message),
        PatchError::DoesNotApply { .. } => {
            Status::new(StatusCode::UNPROCESSABLE_ENTITY, "Invalid", message).with_details(Details::default())
        }
        PatchError::Unforeseen(_) => Status::new(StatusCode::INTERNAL_SERVER_ERROR, "", message),
    }
}
