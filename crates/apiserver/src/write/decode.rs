//! The decode step: from a request's bytes to an object of the expected kind, with upstream's complaints (H4, W2).

use std::fmt::{Display, Write as _};

use kubewright_apimachinery::go::quote;
use kubewright_apimachinery::go::value::json_kind;
use kubewright_codec::{Decoded, KEPT_DEPTH, json, strict, yaml};
use kubewright_schema::protobuf::{self, Envelope};
use kubewright_schema::{self as schema, TypeRef, Types, registered};
use serde_json::{Map, Value};

use crate::custom::empties;
use crate::object;
use crate::registry::{Resource, api_version};
use crate::request::call::Call;
use crate::request::write_options::{FieldValidation, OptionsKind, WriteOptions};
use crate::wire::negotiate::{self, Encoding};
use crate::wire::status::{Result, Status};
use crate::write::go_text;

/// The kind that a body must have.
#[derive(Clone, Copy)]
pub(crate) struct ExpectedKind<'r> {
    pub(crate) group: &'r str,
    pub(crate) version: &'r str,
    pub(crate) kind: &'r str,
    shape: ExpectedType<'r>,
    /// Whether objects of it are stored; others are answered as they are.
    is_stored: bool,
}

/// The type that a body must have.
#[derive(Clone, Copy)]
enum ExpectedType<'r> {
    /// A built-in type.
    Typed(TypeRef<'static>),
    /// A custom resource, whose definition has the schema.
    Custom(&'r Resource),
}

impl<'r> ExpectedKind<'r> {
    pub(crate) fn of(resource: &'r Resource) -> Self {
        ExpectedKind {
            group: &resource.group,
            version: &resource.version,
            kind: &resource.kind,
            shape: match resource.ty() {
                Some(ty) => ExpectedType::Typed(ty),
                None => ExpectedType::Custom(resource),
            },
            is_stored: resource.is_stored(),
        }
    }

    fn decode(&self, value: Value, source: &dyn schema::Source) -> std::result::Result<schema::Decoded, String> {
        match self.shape {
            ExpectedType::Typed(ty) => schema::decode(ty, value, Some(source)).map_err(|error| error.to_string()),
            ExpectedType::Custom(resource) => resource.decode(value, None),
        }
    }
}

/// The options and the object of a create or a PUT.
pub(crate) fn received(
    call: &mut Call<'_>,
    kind: OptionsKind,
    expected: ExpectedKind<'_>,
) -> Result<(WriteOptions, Value)> {
    let encoding = negotiate::input(call.headers)?;
    let options = WriteOptions::parse(call.query, kind, call.header(http::header::USER_AGENT))?;
    let body = call.body.clone();
    let object = decode(&body, encoding, expected, options.validation, &mut call.warnings)?;
    if let Some(logged) = call.annotations.logged() {
        logged.request_object(None, &object);
    }
    Ok((options, object))
}

/// A kind that only exists as a subresource's body.
pub(crate) fn expected(
    group: &'static str,
    version: &'static str,
    kind: &'static str,
) -> Result<ExpectedKind<'static>> {
    let ty = Types::builtin()
        .kind(group, version, kind)
        .ok_or_else(|| Status::internal(&format!("the table of facts has no {kind}")))?;
    Ok(ExpectedKind {
        group,
        version,
        kind,
        shape: ExpectedType::Typed(ty),
        is_stored: false,
    })
}

/// Reads a body; what strict decoding complains about goes into `warnings` unless it is refused.
pub(crate) fn decode(
    body: &[u8],
    encoding: Encoding,
    expected: ExpectedKind<'_>,
    validation: FieldValidation,
    warnings: &mut Vec<String>,
) -> Result<Value> {
    let unrecognized = |why: String| {
        let shown = summary(body);
        Status::bad_request(format!(
            "the object provided is unrecognized (must be of type {}): couldn't get version/kind; json parse error: {why} ({shown})",
            expected.kind
        ))
    };
    let mut decoded = match encoding {
        Encoding::Json => json::decode(body).map_err(|error| unrecognized(error.to_string()))?,
        Encoding::Yaml => yaml::decode(body).map_err(|error| unreadable(body, expected, &error))?,
        // Bytes have no spellings to remember.
        Encoding::Protobuf => Decoded::default(),
    };
    let value = match encoding {
        Encoding::Protobuf => from_protobuf(body, expected)?,
        Encoding::Json | Encoding::Yaml => std::mem::take(&mut decoded.value),
    };
    if matches!(expected.shape, ExpectedType::Custom(_)) {
        check_custom_type(&value, expected, body, &unrecognized)?;
        if let Some(why) = decoded.range_error().or_else(|| too_deep(&decoded)) {
            return Err(handled(expected, expected.version, &why));
        }
    } else {
        check_type_meta(&value, expected, body, &unrecognized)?;
        if let Some(why) = too_deep(&decoded).filter(|_| expected.kind == "CustomResourceDefinition") {
            return Err(handled(expected, expected.version, &why));
        }
    }
    let resets = resets_managed_fields(&value) && matches!(expected.shape, ExpectedType::Typed(_));
    let is_definition = expected.kind == "CustomResourceDefinition" && matches!(expected.shape, ExpectedType::Typed(_));
    let may_be_empty = || {
        [b"[]", b"{}"]
            .iter()
            .any(|empty| memchr::memmem::find(body, *empty).is_some())
    };
    let before = (is_definition || may_be_empty()).then(|| value.clone());
    let document = (encoding == Encoding::Json).then_some(body);
    let source = Source {
        decoded: &decoded,
        document: body,
    };
    let typed = expected
        .decode(value, &source)
        .map_err(|why| handled(expected, expected.version, &why))?;
    if validation != FieldValidation::Ignore {
        let complaints = match expected.shape {
            ExpectedType::Typed(_) => strict::complaints(&decoded, &typed.unknown, document),
            ExpectedType::Custom(_) => strict::untyped_complaints(&decoded, &typed.unknown),
        };
        if !complaints.is_empty() {
            if validation == FieldValidation::Strict {
                let why = format!("strict decoding error: {}", complaints.join(", "));
                return Err(handled(expected, expected.version, &why));
            }
            warnings.extend(strict::warnings(complaints));
        }
    }
    let mut value = typed.value;
    if resets {
        object::set_meta(&mut value, "managedFields", Value::Array(Vec::new()));
    }
    // A custom resource of another kind is refused by its rules, under the name it gave itself.
    if let (Some(object), ExpectedType::Typed(_)) = (value.as_object_mut(), expected.shape) {
        object.insert("kind".into(), expected.kind.into());
        object.insert(
            "apiVersion".into(),
            api_version(expected.group, expected.version).into(),
        );
    }
    if let (Some(before), ExpectedType::Typed(ty)) = (before, expected.shape) {
        schema::keep_empties(ty, &before, &mut value);
        if !expected.is_stored {
            schema::leave_out_empties(ty, &mut value);
        }
        if is_definition {
            empties::restore(&before, &mut value);
        }
    }
    Ok(value)
}

/// An object in its protobuf envelope, which must say the expected kind before the bytes inside mean anything (H6).
fn from_protobuf(body: &[u8], expected: ExpectedKind<'_>) -> Result<Value> {
    let envelope = Envelope::open(body).map_err(|error| unreadable(body, expected, &error))?;
    let mut type_meta = Map::new();
    for (key, text) in [("kind", envelope.kind), ("apiVersion", envelope.api_version)] {
        if !text.is_empty() {
            type_meta.insert(key.into(), text.into());
        }
    }
    let type_meta = Value::Object(type_meta);
    check_type_meta(&type_meta, expected, body, &Status::bad_request)?;
    let ExpectedType::Typed(ty) = expected.shape else {
        return Err(Status::unsupported_media_type("application/json, application/yaml"));
    };
    protobuf::decode(ty, envelope.raw).map_err(|error| handled(expected, expected.version, &error.to_string()))
}

/// A body that is not even of its media type.
fn unreadable(body: &[u8], expected: ExpectedKind<'_>, error: &dyn Display) -> Box<Status> {
    let (kind, shown) = (expected.kind, summary(body));
    Status::bad_request(format!(
        "the object provided is unrecognized (must be of type {kind}): {error} ({shown})"
    ))
}

/// Whether a document empties managedFields, which typed decoding would not show any more (S10).
pub(crate) fn resets_managed_fields(value: &Value) -> bool {
    value
        .pointer("/metadata/managedFields")
        .and_then(Value::as_array)
        .is_some_and(Vec::is_empty)
}

/// `ConfigMap in version "v1" cannot be handled as a ConfigMap: …`
fn handled(expected: ExpectedKind<'_>, version: &str, why: &str) -> Box<Status> {
    let kind = expected.kind;
    Status::bad_request(format!(
        "{kind} in version {} cannot be handled as a {kind}: {why}",
        quote(version)
    ))
}

/// What upstream's decoders read first of any document, as Go prints the type.
pub(crate) const TYPE_META: &str =
    r#"struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }"#;

/// Reads no more of a document than its type, which must be text where it is anything.
fn check_type_is_text(value: &Value, unrecognized: &dyn Fn(String) -> Box<Status>) -> Result<()> {
    let Value::Object(object) = value else {
        if value.is_null() {
            return Ok(());
        }
        return Err(unrecognized(format!(
            "json: cannot unmarshal {} into Go value of type {TYPE_META}",
            json_kind(value)
        )));
    };
    for key in ["apiVersion", "kind"] {
        if let Some(other) = object.get(key).filter(|value| !value.is_string() && !value.is_null()) {
            return Err(unrecognized(format!(
                "json: cannot unmarshal {} into Go struct field .{key} of type string",
                json_kind(other)
            )));
        }
    }
    Ok(())
}

/// A custom resource must name its type, and be of the version in the path; its kind is for its rules to judge.
fn check_custom_type(
    value: &Value,
    expected: ExpectedKind<'_>,
    body: &[u8],
    unrecognized: &dyn Fn(String) -> Box<Status>,
) -> Result<()> {
    check_type_is_text(value, unrecognized)?;
    let text = |key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default();
    if let Some(why) = no_group_version(text("apiVersion")) {
        return Err(unreadable(body, expected, &why));
    }
    if text("kind").is_empty() {
        let given = String::from_utf8_lossy(body);
        let why = format!("Object 'Kind' is missing in '{given}'");
        return Err(unreadable(body, expected, &why));
    }
    if value.get("apiVersion").is_some_and(Value::is_null) {
        let why = ".apiVersion accessor error: <nil> is of the type <nil>, expected string";
        return Err(handled(expected, "", why));
    }
    let wanted = api_version(expected.group, expected.version);
    if text("apiVersion") != wanted {
        return Err(Status::bad_request(format!(
            "the API version in the data ({}) does not match the expected API version ({wanted})",
            text("apiVersion")
        )));
    }
    Ok(())
}

/// Why a custom resource that nests too deep is refused: what would be left out of it is its own.
pub(crate) fn too_deep(decoded: &Decoded) -> Option<String> {
    let why = || format!("values nest deeper than the {KEPT_DEPTH} levels that this server keeps");
    decoded.too_deep.then(why)
}

/// What keeps upstream from reading the type of a patched custom resource: it is refused as a patch, or fails.
pub(crate) enum TypeDefect {
    Unreadable(String),
    MissingVersion,
}

/// The first defect of a patched custom resource's own type.
pub(crate) fn type_defect(object: &Value) -> Option<TypeDefect> {
    if let Some(why) = type_is_no_text(object) {
        return Some(TypeDefect::Unreadable(why));
    }
    let text = |key: &str| object.get(key).and_then(Value::as_str).unwrap_or_default();
    if let Some(why) = no_group_version(text("apiVersion")) {
        return Some(TypeDefect::Unreadable(why));
    }
    if text("kind").is_empty() {
        let shown = go_text::json_of(None, object, &Value::Null);
        return Some(TypeDefect::Unreadable(format!("Object 'Kind' is missing in '{shown}'")));
    }
    text("apiVersion").is_empty().then_some(TypeDefect::MissingVersion)
}

/// Why the type of a patched document cannot be read.
pub(crate) fn type_is_no_text(object: &Value) -> Option<String> {
    ["apiVersion", "kind"].iter().find_map(|key| {
        let value = object.get(key).filter(|value| !value.is_string() && !value.is_null())?;
        let found = json_kind(value);
        Some(format!(
            "couldn't get version/kind; json parse error: json: cannot unmarshal {found} into Go struct field .{key} of type \
             string"
        ))
    })
}

fn no_group_version(api_version: &str) -> Option<String> {
    let slashes = api_version.bytes().filter(|byte| *byte == b'/').count();
    (slashes > 1).then(|| format!("unexpected GroupVersion string: {api_version}"))
}

/// The body's own kind and apiVersion must be those of the path, as far as it names them.
fn check_type_meta(
    value: &Value,
    expected: ExpectedKind<'_>,
    body: &[u8],
    unrecognized: &dyn Fn(String) -> Box<Status>,
) -> Result<()> {
    check_type_is_text(value, unrecognized)?;
    let Value::Object(object) = value else {
        return Ok(());
    };
    let text = |key: &str| object.get(key).and_then(Value::as_str).unwrap_or_default();
    if let Some(why) = no_group_version(text("apiVersion")) {
        return Err(unreadable(body, expected, &why));
    }
    let kind = Some(text("kind"))
        .filter(|kind| !kind.is_empty())
        .unwrap_or(expected.kind);
    let (group, version) = match text("apiVersion") {
        "" => (expected.group, expected.version),
        text => text.split_once('/').unwrap_or(("", text)),
    };
    match mismatch(group, version, kind, expected) {
        None => Ok(()),
        Some(Mismatch::Version(message)) => Err(Status::bad_request(message)),
        Some(Mismatch::Kind(why)) => Err(Status::bad_request(format!(
            "{kind} in version {} cannot be handled as a {}: {why}",
            quote(version),
            expected.kind
        ))),
    }
}

/// Why a document is not what its path says.
enum Mismatch {
    /// The right kind in another version.
    Version(String),
    /// Another kind, or none that exists.
    Kind(String),
}

/// What a patch made of the type of a document.
pub(crate) enum KindChange<'v> {
    /// Another kind, or none that exists; this is why.
    Refused(String),
    /// The same kind in another version, in which the document is read.
    Version { group: &'v str, version: &'v str },
}

/// Whether a patched document is not of the expected kind any more.
pub(crate) fn kind_changed<'v>(value: &'v Value, expected: ExpectedKind<'_>) -> Option<KindChange<'v>> {
    if let Some(why) = type_is_no_text(value) {
        return Some(KindChange::Refused(why));
    }
    let text = |key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default();
    if let Some(why) = no_group_version(text("apiVersion")) {
        return Some(KindChange::Refused(why));
    }
    let (group, version) = text("apiVersion").split_once('/').unwrap_or(("", text("apiVersion")));
    // A patch may leave the kind to the path.
    let kind = Some(text("kind"))
        .filter(|kind| !kind.is_empty())
        .unwrap_or(expected.kind);
    Some(match mismatch(group, version, kind, expected)? {
        Mismatch::Version(_) => KindChange::Version { group, version },
        Mismatch::Kind(why) => KindChange::Refused(why),
    })
}

fn mismatch(group: &str, version: &str, kind: &str, expected: ExpectedKind<'_>) -> Option<Mismatch> {
    if (group, version, kind) == (expected.group, expected.version, expected.kind) {
        return None;
    }
    let given = api_version(group, version);
    let package = registered::go_package(group, version, kind);
    // Definitions are no longer served in this version, but its types are still known.
    let is_old_definition = (group, version) == ("apiextensions.k8s.io", "v1beta1") && kind == expected.kind;
    let internal_type = |group, kind| (registered::internal_group(group, kind), kind);
    let is_converted = (package.is_some() || is_old_definition)
        && internal_type(group, kind) == internal_type(expected.group, expected.kind);
    if is_converted {
        return Some(Mismatch::Version(format!(
            "the API version in the data ({given}) does not match the expected API version ({})",
            api_version(expected.group, expected.version)
        )));
    }
    Some(Mismatch::Kind(if let Some(package) = package {
        let (internal, expected) = (internal_package(expected.group), expected.kind);
        format!("converting ({package}.{kind}) to ({internal}.{expected}): unknown conversion")
    } else {
        let (kind, given) = (quote(kind), quote(&given));
        format!("no kind {kind} is registered for version {given} in scheme \"pkg/runtime/scheme.go:111\"")
    }))
}

/// The Go package of a group's internal types, which a failed conversion names.
pub(crate) fn internal_package(group: &str) -> &str {
    match group {
        "" | "events.k8s.io" => "core",
        group => group.split('.').next().unwrap_or(group),
    }
}

/// The beginning of a body, as upstream shows it: text if it looks like JSON, hexadecimal otherwise.
fn summary(body: &[u8]) -> String {
    const MOST: usize = 30;
    let shown = &body[..body.len().min(MOST)];
    let more = if body.len() > MOST { " ..." } else { "" };
    match body.first() {
        None => "<empty>".into(),
        Some(b'{') => format!("{}{more}", String::from_utf8_lossy(shown)),
        Some(_) => {
            let mut digits = String::with_capacity(2 * MOST);
            for byte in shown {
                let _ = write!(digits, "{byte:02x}");
            }
            digits + more
        }
    }
}

/// What only the document knows, for the words of type errors.
struct Source<'a> {
    decoded: &'a Decoded,
    document: &'a [u8],
}

impl schema::Source for Source<'_> {
    fn literal(&self, path: &str) -> Option<&str> {
        self.decoded.number_at(path)
    }

    fn positions(&self, paths: &[&str]) -> Vec<usize> {
        json::positions(self.document, paths)
    }
}
