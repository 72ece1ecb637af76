//! The schema of a version: what keywords of `OpenAPI` v3 it may use, where defaults may stand, and its rules (C5, C16, C17).

use kubewright_apimachinery::field::{Errors, FieldError, PathRef};
use serde_json::Value;

use super::options::{Options, TYPES};
use super::printed;
use super::props::{Items, Props};
use super::rules::{self, CompilableRules};
use super::{defaults, lists, structural};
use crate::crd::access::at;

/// The keywords that the root may have when the status is a subresource: others would not apply to the status alone.
const AT_ROOT: [&str; 22] = [
    "Description",
    "Type",
    "Format",
    "Title",
    "Maximum",
    "ExclusiveMaximum",
    "Minimum",
    "ExclusiveMinimum",
    "MaxLength",
    "MinLength",
    "Pattern",
    "MaxItems",
    "MinItems",
    "UniqueItems",
    "MultipleOf",
    "Required",
    "Items",
    "Properties",
    "ExternalDocs",
    "Example",
    "XPreserveUnknownFields",
    "XValidations",
];

/// What is wrong with the `schema` stanza of a version, or with the one all versions share.
pub(super) fn validate(
    stanza: Option<&Value>,
    has_status: bool,
    options: &Options,
    version: &str,
    path: &PathRef<'_>,
    errors: &mut Errors,
) {
    let Some(schema) = stanza.and_then(|stanza| at(stanza, &["openAPIV3Schema"])) else {
        return;
    };
    let mut found = Errors::new();
    if has_status {
        validate_root_fields(schema, path, &mut found);
    }
    let root = Props(schema);
    if root.nullable() {
        let path = path.child("openAPIV3Schema.nullable");
        found.push(FieldError::forbidden(&path, "nullable cannot be true at the root"));
    }
    let path = path.child("openAPIV3Schema");
    let mut unsupported = None;
    let mut runs_rules = false;
    if options.structural {
        unsupported = structural::unsupported(root);
        if unsupported.is_none() {
            let before = found.len();
            found.extend(structural::validate(root, &path));
            if found.len() == before {
                defaults::validate(root, options.pruned_defaults, &path, &mut found);
            }
            runs_rules = found.len() == before;
        }
    }
    let mut walk = Walk {
        options,
        errors: found,
        compilable: CompilableRules::default(),
    };
    walk.node(root, &path, NodeContext::root(runs_rules));
    let Walk {
        errors: mut found,
        compilable,
        ..
    } = walk;
    if runs_rules {
        let any_cost = options.unchanged.contains(version);
        rules::validate(schema, &compilable, any_cost, &path, &mut found);
    }
    if let Some(problem) = unsupported.filter(|_| found.is_empty()) {
        found.push(FieldError::invalid(&path, "", problem));
    }
    errors.extend(found);
}

fn validate_root_fields(schema: &Value, path: &PathRef<'_>, errors: &mut Errors) {
    for (name, field, kind) in printed::SCHEMA {
        if printed::is_zero(schema, field, kind) {
            continue;
        }
        if name == "Type" {
            let kind = Props(schema).kind();
            if kind != "object" {
                let words = "only \"object\" is allowed as the type at the root of the schema if the status subresource is enabled";
                errors.push(FieldError::invalid(&path.child("openAPIV3Schema.type"), kind, words));
                return;
            }
        } else if !AT_ROOT.contains(&name) {
            let words = format!(
                "only [{}] fields are allowed at the root of the schema if the status subresource is enabled",
                AT_ROOT.join(" ")
            );
            let path = path.child("openAPIV3Schema");
            errors.push(printed::invalid(&path, &printed::schema(schema), &words));
            return;
        }
    }
}

/// What holds at a node because of its position in the schema.
#[derive(Clone, Copy)]
struct NodeContext<'a> {
    is_root: bool,
    /// Why a default is not allowed here.
    no_defaults: Option<&'a str>,
    inside_meta: bool,
    /// Whether rules here can be compiled: not under quantors.
    rules: bool,
}

impl NodeContext<'_> {
    fn root(rules: bool) -> Self {
        NodeContext {
            is_root: true,
            no_defaults: None,
            inside_meta: false,
            rules,
        }
    }

    fn below(self) -> Self {
        NodeContext { is_root: false, ..self }
    }

    fn under_quantor(self) -> Self {
        NodeContext {
            rules: false,
            ..self.below()
        }
    }
}

struct Walk<'o, 's> {
    options: &'o Options,
    errors: Errors,
    compilable: CompilableRules<'s>,
}

impl<'s> Walk<'_, 's> {
    fn node(&mut self, node: Props<'s>, path: &PathRef<'_>, here: NodeContext<'_>) {
        let before = self.errors.len();
        self.keywords(node, path, here);
        if node.flag("uniqueItems") {
            let words = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic";
            self.errors
                .push(FieldError::forbidden(&path.child("uniqueItems"), words));
        }
        self.fields(node, path, here);
        self.quantors(node, path, here);
        self.items(node, path, here);
        for (name, dependency) in node
            .map("dependencies")
            .filter(|(_, dependency)| dependency.0.is_object())
        {
            self.node(dependency, &path.child("dependencies").key(name), here.under_quantor());
        }
        if node.get("x-kubernetes-preserve-unknown-fields") == Some(&Value::Bool(false)) {
            let path = path.child("x-kubernetes-preserve-unknown-fields");
            self.errors
                .push(FieldError::invalid(&path, false, "must be true or undefined"));
        }
        lists::validate(node, path, self.options, &mut self.errors);
        if node.rules().is_empty() {
            return;
        }
        rules::validate_texts(node, path, &mut self.errors);
        if here.rules && self.errors.len() == before {
            self.compilable.add(node, path);
        }
    }

    /// What `OpenAPI` v3 schemas of Kubernetes do not have.
    fn keywords(&mut self, node: Props<'_>, path: &PathRef<'_>, here: NodeContext<'_>) {
        let kind = node.kind();
        if self.options.valid_types && !kind.is_empty() && !TYPES.contains(&kind) {
            self.errors
                .push(FieldError::not_supported(&path.child("type"), kind, TYPES));
        }
        let mut forbid = |field: &str, words: &str| self.errors.push(FieldError::forbidden(&path.child(field), words));
        if let Some(reason) = here.no_defaults.filter(|_| node.has("default")) {
            forbid("default", &format!("must not be set {reason}"));
        }
        if !node.text("id").is_empty() {
            forbid("id", "id is not supported");
        }
        if node.has("additionalItems") {
            forbid("additionalItems", "additionalItems is not supported");
        }
        if node.map("patternProperties").next().is_some() {
            forbid("patternProperties", "patternProperties is not supported");
        }
        if node.map("definitions").next().is_some() {
            forbid("definitions", "definitions is not supported");
        }
        if node.has("dependencies") {
            forbid("dependencies", "dependencies is not supported");
        }
        if node.has("$ref") {
            forbid("$ref", "$ref is not supported");
        }
        if kind == "null" {
            forbid("type", "type cannot be set to null, use nullable as an alternative");
        }
        if let Some(Items::Many([_, ..])) = node.items() {
            forbid("items", "items must be a schema object and not an array");
        }
        if here.inside_meta && node.is_embedded_resource() {
            forbid(
                "x-kubernetes-embedded-resource",
                "must not be used inside of resource meta",
            );
        }
    }

    fn fields(&mut self, node: Props<'s>, path: &PathRef<'_>, here: NodeContext<'_>) {
        if let Some(additional) = node.get("additionalProperties") {
            if node.has_properties() && additional != &Value::Bool(true) {
                let words = "additionalProperties and properties are mutual exclusive";
                self.errors
                    .push(FieldError::forbidden(&path.child("additionalProperties"), words));
            }
            let mut below = here.below();
            if here.inside_meta {
                // The value is not known, so it is not known to what a default there would be pruned.
                below.no_defaults = Some("inside additionalProperties applying to object metadata");
            }
            if let Some(schema) = node.additional_properties() {
                self.node(schema, &path.child("additionalProperties"), below);
            }
        }
        let properties = path.child("properties");
        for (name, property) in node.properties() {
            let reason = format!("in top-level {name}");
            let mut below = here.below();
            if (here.is_root || node.is_embedded_resource()) && matches!(name, "metadata" | "kind" | "apiVersion") {
                below.inside_meta = true;
                if here.is_root {
                    below.no_defaults = Some(&reason);
                }
            }
            self.node(property, &properties.key(name), below);
        }
    }

    fn quantors(&mut self, node: Props<'s>, path: &PathRef<'_>, here: NodeContext<'_>) {
        let below = here.under_quantor();
        if let Some(not) = node.not() {
            self.node(not, &path.child("not"), below);
        }
        for field in ["allOf", "oneOf", "anyOf"] {
            let path = path.child(field);
            for (index, schema) in node.all(field).enumerate() {
                self.node(schema, &path.index(index), below);
            }
        }
        let path = path.child("definitions");
        for (name, schema) in node.map("definitions") {
            self.node(schema, &path.key(name), below);
        }
    }

    fn items(&mut self, node: Props<'s>, path: &PathRef<'_>, here: NodeContext<'_>) {
        let path = path.child("items");
        match node.items() {
            Some(Items::One(item)) => self.node(item, &path, here.below()),
            Some(Items::Many(items)) => {
                for (index, item) in items.iter().enumerate() {
                    self.node(Props(item), &path.index(index), here.below());
                }
            }
            None => {}
        }
    }
}
