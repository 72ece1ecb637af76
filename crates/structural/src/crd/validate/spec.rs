//! The spec of a definition: group, scope, versions and what they share, names, conversion.

use kubewright_apimachinery::field::{Errors, FieldError, PathRef};
use kubewright_apimachinery::go::quote::is_printable;
use serde_json::Value;

use super::internal::Spec;
use super::options::{Options, needs_structure, preserves_unknown_fields};
use super::props::Props;
use super::{columns, conversion, names, open_api, printed, structural};
use crate::crd::access::{at, flag, text};

/// Everything wrong with a spec.
pub(super) fn validate(spec: &Spec<'_>, mut options: Options, errors: &mut Errors) {
    let path = PathRef::root("spec");
    validate_group(text(spec.sent, &["group"]), &path.child("group"), errors);
    match text(spec.sent, &["scope"]) {
        "" => errors.push(FieldError::required(&path.child("scope"), "")),
        "Cluster" | "Namespaced" => {}
        scope => errors.push(FieldError::not_supported(
            &path.child("scope"),
            scope,
            ["Cluster", "Namespaced"],
        )),
    }
    require_schemas(spec, &options, &path, errors);
    let preserves = preserves_unknown_fields(spec.sent);
    let (has_defaults, has_extensions) = needs_structure(spec);
    if has_defaults && preserves {
        let words = "must be false in order to use defaults in the schema";
        errors.push(FieldError::invalid(&path.child("preserveUnknownFields"), true, words));
    }
    options.structural |= !preserves || has_defaults || has_extensions;
    validate_versions(spec, &options, &path, errors);
    for field in ["plural", "singular", "kind", "listKind"] {
        if text(spec.sent, &["names", field]).is_empty() {
            errors.push(FieldError::required(&path.child("names").child(field), ""));
        }
    }
    let nothing = Value::Null;
    let requested = at(spec.sent, &["names"]).unwrap_or(&nothing);
    names::validate(requested, &path.child("names"), errors);
    validate_shared(spec, &options, &path, errors);
    conversion::validate(spec.sent, &path.child("conversion"), &options, errors);
}

fn validate_group(group: &str, path: &PathRef<'_>, errors: &mut Errors) {
    let problems = super::group_problems(group);
    if group.is_empty() {
        errors.push(FieldError::required(path, ""));
    } else if !problems.is_empty() {
        errors.push(FieldError::invalid(path, group, problems.join(",")));
    } else if !group.contains('.') {
        errors.push(FieldError::invalid(
            path,
            group,
            "should be a domain with at least one dot",
        ));
    }
}

/// A definition without a schema would lose every field of its objects.
fn require_schemas(spec: &Spec<'_>, options: &Options, path: &PathRef<'_>, errors: &mut Errors) {
    let why = match (options.schema, preserves_unknown_fields(spec.sent)) {
        (true, _) => "",
        (false, false) => "because otherwise all fields are pruned",
        (false, true) => return,
    };
    if spec
        .top("schema")
        .is_some_and(|schema| at(schema, &["openAPIV3Schema"]).is_some())
    {
        return;
    }
    let path = path.child("versions");
    for (index, version) in spec.versions.iter().enumerate() {
        let schema = spec
            .own(version, "schema")
            .and_then(|schema| at(schema, &["openAPIV3Schema"]));
        if schema.is_none() && (options.schema || flag(version, &["served"])) {
            let path = path.index(index);
            let path = path.child("schema");
            errors.push(FieldError::required(&path.child("openAPIV3Schema"), why));
        }
    }
}

fn validate_versions(spec: &Spec<'_>, options: &Options, path: &PathRef<'_>, errors: &mut Errors) {
    let path = path.child("versions");
    for (index, version) in spec.versions.iter().enumerate() {
        let path = path.index(index);
        names::label(text(version, &["name"]), &path.child("name"), errors);
        validate_version(spec, version, options, &path, errors);
    }
    let mut seen: Vec<&str> = spec.versions.iter().map(|version| text(version, &["name"])).collect();
    seen.sort_unstable();
    if seen.windows(2).any(|pair| pair[0] == pair[1]) {
        let words = "must contain unique version names";
        errors.push(printed::invalid(&path, &spec.shown_versions(), words));
    }
    let stored = spec
        .versions
        .iter()
        .filter(|version| flag(version, &["storage"]))
        .count();
    if stored != 1 {
        let words = "must have exactly one version marked as storage version";
        errors.push(printed::invalid(&path, &spec.shown_versions(), words));
    }
    // The first version is also `spec.version`, which earlier APIs had and which is checked once more.
    if !spec.version().is_empty() {
        let path = PathRef::root("spec");
        names::label(spec.version(), &path.child("version"), errors);
    }
}

fn validate_version(spec: &Spec<'_>, version: &Value, options: &Options, path: &PathRef<'_>, errors: &mut Errors) {
    let name = text(version, &["name"]);
    validate_deprecation(version, &path.child("deprecationWarning"), errors);
    let status = spec.subresources_of(name).is_some_and(has_status);
    let schema = spec.own(version, "schema");
    open_api::validate(schema, status, options, name, &path.child("schema"), errors);
    columns::validate_subresources(spec.own(version, "subresources"), &path.child("subresources"), errors);
    let printed = spec.own(version, "additionalPrinterColumns");
    columns::validate_columns(printed, &path.child("additionalPrinterColumns"), errors);
    let fields = spec.own(version, "selectableFields").and_then(Value::as_array);
    let Some(fields) = fields.filter(|fields| !fields.is_empty()) else {
        return;
    };
    let schema = schema.and_then(|schema| at(schema, &["openAPIV3Schema"]));
    let fields_path = path.child("selectableFields");
    let Some(schema) = schema else {
        let words = "may only be set when `version.schema.openAPIV3Schema` is not included";
        errors.push(FieldError::invalid(&fields_path, "", words));
        return;
    };
    let may_be_many = options.too_many_selectable_fields.contains(name);
    select(fields, schema, may_be_many, path, errors);
}

/// What is wrong with what all versions share.
fn validate_shared(spec: &Spec<'_>, options: &Options, path: &PathRef<'_>, errors: &mut Errors) {
    let any_status = spec.top("subresources").is_some_and(has_status)
        || spec
            .versions
            .iter()
            .any(|version| spec.own(version, "subresources").is_some_and(has_status));
    let schema = spec.top("schema");
    open_api::validate(
        schema,
        any_status,
        options,
        spec.version(),
        &path.child("validation"),
        errors,
    );
    columns::validate_subresources(spec.top("subresources"), &path.child("subresources"), errors);
    let printed = spec.top("additionalPrinterColumns");
    columns::validate_columns(printed, &path.child("additionalPrinterColumns"), errors);
    let fields = spec.top("selectableFields").and_then(Value::as_array);
    let Some(fields) = fields.filter(|fields| !fields.is_empty()) else {
        return;
    };
    let Some(schema) = schema else {
        let words = "may only be set when validations.schema is included";
        errors.push(FieldError::invalid(&path.child("selectableFields"), "", words));
        return;
    };
    if let Some(schema) = at(schema, &["openAPIV3Schema"]) {
        let may_be_many = options.too_many_selectable_fields.contains("");
        select(fields, schema, may_be_many, path, errors);
    }
}

fn select(fields: &[Value], schema: &Value, may_be_many: bool, path: &PathRef<'_>, errors: &mut Errors) {
    let problem = structural::unsupported(Props(schema));
    let schema = problem.is_none().then_some(Props(schema));
    if let Some(problem) = problem {
        errors.push(FieldError::invalid(&path.child("schema.openAPIV3Schema"), "", problem));
    }
    columns::validate_selectable_fields(fields, schema, may_be_many, &path.child("selectableFields"), errors);
}

fn has_status(subresources: &Value) -> bool {
    at(subresources, &["status"]).is_some()
}

fn validate_deprecation(version: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    let Some(warning) = at(version, &["deprecationWarning"]).and_then(Value::as_str) else {
        return;
    };
    let mut problems: Vec<String> = Vec::new();
    if flag(version, &["deprecated"]) {
        if warning.len() > 256 {
            problems.push("must be <= 256 characters long".to_owned());
        }
        if warning.is_empty() {
            problems.push("must not be an empty string".to_owned());
        }
        if let Some((index, _)) = warning.char_indices().find(|(_, c)| !is_printable(*c)) {
            problems.push(format!(
                "must only contain printable UTF-8 characters; non-printable character found at index {index}"
            ));
        }
    } else {
        problems.push("can only be set for deprecated versions".to_owned());
    }
    for problem in problems {
        errors.push(printed::invalid(path, &printed::json_text(warning), &problem));
    }
}
