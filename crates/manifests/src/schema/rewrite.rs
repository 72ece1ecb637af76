//! Rewrites a type's schema: references are replaced by what they refer to, nulls and choices are resolved, keywords translated.

use serde_json::{Map, Value};

use super::choice::members;
use super::{SOURCE, choice, combine, conditions, declare, defaults, formats, keywords, known};
use crate::{Location, Problem};

/// How deep a schema may be nested: a deeper one refers to itself in a way that was not detected.
const MAX_DEPTH: usize = 128;

/// The keyword that keeps fields which a schema does not name.
pub(super) const PRESERVE_UNKNOWN_FIELDS: &str = "x-kubernetes-preserve-unknown-fields";

/// Keywords that declare the type of a value.
const DECLARING: [&str; 5] = ["type", "$ref", "properties", "items", "x-kubernetes-int-or-string"];

/// How a schema is rewritten.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaOptions {
    /// The metadata of a template keeps its name, namespace, labels, annotations and finalizers. Without it they are pruned.
    pub embedded_metadata: bool,
}

impl Default for SchemaOptions {
    fn default() -> Self {
        SchemaOptions {
            embedded_metadata: true,
        }
    }
}

/// The structural schema of a type, or everything about it that cannot be said in one.
///
/// `root` is what `schemars` generates for the type (JSON Schema 2020-12, with its definitions), and `at` the field that the
/// type is of, for messages: `spec`.
///
/// ```
/// use kubewright_manifests::schema::structural;
/// use serde_json::json;
///
/// let schema = json!({ "type": "object", "properties": { "port": { "type": "integer", "format": "uint16" } } });
/// assert_eq!(
///     structural(&schema, "spec").unwrap(),
///     json!({ "type": "object", "properties": {
///         "port": { "type": "integer", "format": "int32", "minimum": 0, "maximum": 65535 },
///     } })
/// );
///
/// let pair = json!({ "type": "array", "prefixItems": [{ "type": "string" }, { "type": "string" }] });
/// let problems = structural(&pair, "spec").unwrap_err();
/// assert_eq!(problems[0].location.field.as_deref(), Some("spec"));
/// ```
pub fn structural(root: &Value, at: &str) -> Result<Value, Vec<Problem>> {
    structural_with(root, at, &SchemaOptions::default())
}

/// The structural schema of a type, with options.
pub fn structural_with(root: &Value, at: &str, options: &SchemaOptions) -> Result<Value, Vec<Problem>> {
    let mut rewriter = Rewriter {
        root,
        options,
        references: Vec::new(),
        sources: Vec::new(),
        problems: Vec::new(),
    };
    let mut schema = rewriter.schema(root, at, 0).schema;
    // `schemars` writes the name of the outermost type here.
    schema.remove("title");
    let mut problems = rewriter.problems;
    if problems.is_empty() {
        problems = declare::everywhere(&mut schema, root, at);
    }
    if problems.is_empty() {
        return Ok(schema.into());
    }
    Err(problems)
}

struct Rewriter<'s> {
    root: &'s Value,
    options: &'s SchemaOptions,
    /// The references that are being replaced, outermost first.
    references: Vec<&'s str>,
    /// The sources of the types and fields that are being rewritten, outermost first.
    sources: Vec<&'s str>,
    problems: Vec<Problem>,
}

/// A schema in structural form.
#[derive(Default)]
struct Rewritten {
    schema: Map<String, Value>,
    /// Its value may be null: it is an `Option`.
    optional: bool,
}

impl<'s> Rewriter<'s> {
    /// The schema in structural form. If it has none, the problem is added to the list and the result is empty.
    fn schema(&mut self, schema: &'s Value, at: &str, depth: usize) -> Rewritten {
        let Value::Object(schema) = schema else {
            // The boolean schema `true` admits everything.
            return Rewritten::default();
        };
        let source = schema.get(SOURCE).and_then(Value::as_str);
        self.sources.extend(source);
        let rewritten = self.object(schema, at, depth).unwrap_or_else(|problem| {
            self.problems.push(*problem);
            Rewritten::default()
        });
        if source.is_some() {
            self.sources.pop();
        }
        rewritten
    }

    fn object(&mut self, schema: &'s Map<String, Value>, at: &str, depth: usize) -> Result<Rewritten, Box<Problem>> {
        self.refuse(schema, at, depth)?;
        let mut rewritten = keywords::kept(schema);
        if let Some(value) = schema.get("const") {
            rewritten.insert("enum".into(), vec![value.clone()].into());
        }
        let mut optional = self.single_type(&mut rewritten, at)?;
        self.children(schema, &mut rewritten, at, depth);
        if let Some(reference) = schema.get("$ref").and_then(Value::as_str) {
            let referred = self.referred(reference, at, depth)?;
            optional |= referred.optional;
            combine::merge(&mut rewritten, referred.schema);
        }
        for part in schema.get("allOf").and_then(Value::as_array).into_iter().flatten() {
            let part = match conditions::condition(part) {
                Ok(condition) if !condition.is_empty() => members([("allOf", vec![Value::from(condition)].into())]),
                _ => self.schema(part, at, depth + 1).schema,
            };
            combine::merge(&mut rewritten, part);
        }
        for (keyword, exclusive) in [("oneOf", true), ("anyOf", false)] {
            if let Some(variants) = schema.get(keyword).and_then(Value::as_array) {
                let is_declared = DECLARING.iter().any(|key| schema.contains_key(*key));
                let choice = match bare_choice(keyword, variants).filter(|_| is_declared) {
                    Some(schema) => Rewritten {
                        schema,
                        optional: false,
                    },
                    None => self.choice(exclusive, variants, at, depth)?,
                };
                optional |= choice.optional;
                describe_values(&mut rewritten, &choice.schema);
                combine::merge(&mut rewritten, choice.schema);
            }
        }
        if let Some(not) = schema.get("not") {
            let not = self.condition(not, at)?;
            combine::merge(&mut rewritten, members([("not", not.into())]));
        }
        keywords::rewrite_exclusive_bounds(&mut rewritten);
        keywords::mark_set(schema, &mut rewritten);
        formats::rewrite(&mut rewritten);
        defaults::remove_nulls(&mut rewritten);
        declare::imply(&mut rewritten);
        Ok(Rewritten {
            schema: rewritten,
            optional,
        })
    }

    /// Refuses what no definition can have.
    fn refuse(&self, schema: &'s Map<String, Value>, at: &str, depth: usize) -> Result<(), Box<Problem>> {
        if depth > MAX_DEPTH {
            return Err(self.problem(at, "it is nested too deeply", "flatten the type"));
        }
        if let Some(keyword) = keywords::unsupported(schema) {
            let message = format!("a definition cannot hold the keyword {keyword:?}");
            let hint = "describe the field otherwise, with `#[schemars(schema_with = \"…\")]`";
            return Err(self.problem(at, &message, hint));
        }
        if schema.contains_key("prefixItems") || schema.get("items").is_some_and(Value::is_array) {
            let hint = "use a struct with named fields, or an array of one type";
            return Err(self.problem(at, "a tuple has no structural schema", hint));
        }
        Ok(())
    }

    /// The schema that a reference refers to.
    fn referred(&mut self, reference: &'s str, at: &str, depth: usize) -> Result<Rewritten, Box<Problem>> {
        if self.references.contains(&reference) || (reference == "#" && depth > 0) {
            let hint = "a definition cannot hold a type that contains itself: refer to other objects by name, or keep \
                        the inner part as `serde_json::Value`";
            let message = format!("it contains itself (through {})", name_of(reference));
            return Err(self.problem(at, &message, hint));
        }
        let pointer = reference.strip_prefix('#').unwrap_or(reference);
        let Some(target) = self.root.pointer(pointer) else {
            let message = format!("it refers to {reference}, which the schema does not define");
            return Err(self.problem(at, &message, "generate the schema with its definitions"));
        };
        let name = name_of(reference);
        if let Some(schema) = known::replacement(name, self.options) {
            return Ok(Rewritten {
                schema,
                optional: false,
            });
        }
        self.references.push(reference);
        let mut rewritten = self.schema(target, at, depth + 1);
        self.references.pop();
        known::refine(name, &mut rewritten.schema);
        Ok(rewritten)
    }

    /// Reduces the type to one without null and returns whether null was among them: `required` decides whether a field may be
    /// left out.
    fn single_type(&self, rewritten: &mut Map<String, Value>, at: &str) -> Result<bool, Box<Problem>> {
        let types = match rewritten.get("type") {
            Some(Value::Array(types)) => types.clone(),
            Some(Value::String(name)) if name == "null" => {
                let hint = "leave the field out, or make it a struct without fields (`struct Nothing {}`)";
                return Err(self.problem(at, "a field that is always null says nothing", hint));
            }
            _ => return Ok(false),
        };
        let is_optional = types.iter().any(|name| name == "null");
        let mut types = types.into_iter().filter(|name| name != "null");
        match (types.next(), types.next()) {
            (Some(one), None) => {
                rewritten.insert("type".into(), one);
                if let Some(Value::Array(values)) = rewritten.get_mut("enum") {
                    values.retain(|value| !value.is_null());
                }
                Ok(is_optional)
            }
            _ => Err(self.problem(at, "it is of several types at once", "use one type")),
        }
    }

    fn children(&mut self, schema: &'s Map<String, Value>, rewritten: &mut Map<String, Value>, at: &str, depth: usize) {
        if let Some(properties) = schema.get("properties").and_then(Value::as_object) {
            let required = schema.get("required").and_then(Value::as_array);
            let is_required = |name: &str| required.is_some_and(|names| names.iter().any(|other| other == name));
            let mut own: Map<String, Value> = Map::new();
            for (name, property) in properties {
                let property = self.schema(property, &below(at, name), depth + 1);
                // An optional field is left out instead of being null; a required one may be null.
                own.insert(name.clone(), in_place(property, is_required(name)));
            }
            rewritten.insert("properties".into(), own.into());
        }
        if let Some(items) = schema.get("items") {
            let items = self.schema(items, &format!("{at}[]"), depth + 1);
            rewritten.insert("items".into(), in_place(items, true));
        }
        // `schemars` describes a map with numeric keys by a pattern for the keys; its values have one schema.
        let values = match schema.get("additionalProperties") {
            Some(Value::Bool(false)) | None => {
                let patterns = schema.get("patternProperties").and_then(Value::as_object);
                patterns.and_then(|patterns| patterns.values().next())
            }
            given => given,
        };
        match values {
            None => {}
            // A structural schema cannot have both: unknown fields are preserved without a schema.
            Some(_) if rewritten.contains_key("properties") => {
                rewritten.insert(PRESERVE_UNKNOWN_FIELDS.into(), true.into());
            }
            Some(values) => {
                let values = self.schema(values, &below(at, "*"), depth + 1);
                rewritten.insert("additionalProperties".into(), in_place(values, true));
            }
        }
    }

    /// A choice without the alternative null, which means that the field is optional.
    fn choice(&mut self, exclusive: bool, all: &'s [Value], at: &str, depth: usize) -> Result<Rewritten, Box<Problem>> {
        let is_null = |variant: &&Value| variant.get("type").and_then(Value::as_str) == Some("null");
        let variants: Vec<&Value> = all.iter().filter(|variant| !is_null(variant)).collect();
        let optional = variants.len() < all.len();
        if let [only] = variants.as_slice() {
            let mut only = self.schema(only, at, depth + 1);
            only.optional |= optional;
            return Ok(only);
        }
        let before = self.problems.len();
        let (anything, something): (Vec<&Value>, Vec<&Value>) =
            variants.into_iter().partition(|one| admits_everything(one));
        let rewritten: Vec<Rewritten> = something
            .into_iter()
            .map(|variant| self.schema(variant, at, depth + 1))
            .collect();
        if self.problems.len() > before {
            return Ok(Rewritten::default());
        }
        let optional = optional || rewritten.iter().any(|variant| variant.optional);
        let mut variants: Vec<Map<String, Value>> = rewritten.into_iter().map(|variant| variant.schema).collect();
        let mut schema = match variants.len() {
            1 => variants.remove(0),
            _ => choice::rewrite(exclusive, variants, &|message, hint| self.problem(at, message, hint))?,
        };
        if !anything.is_empty() {
            schema = without_conditions(schema);
        }
        Ok(Rewritten { schema, optional })
    }

    fn condition(&self, schema: &Value, at: &str) -> Result<Map<String, Value>, Box<Problem>> {
        conditions::condition(schema).map_err(|keyword| {
            let message = format!("the keyword {keyword:?} may not stand beneath `not`");
            self.problem(at, &message, "write a rule (`x-kubernetes-validations`) instead")
        })
    }

    fn problem(&self, at: &str, message: &str, hint: &str) -> Box<Problem> {
        let field = if at.is_empty() { "the object" } else { at };
        Box::new(Problem {
            location: Location {
                field: Some(field.to_owned()),
                field_ty: self.references.last().map(|reference| name_of(reference).to_owned()),
                source: self.sources.last().map(|source| (*source).to_owned()),
                ..Location::default()
            },
            message: message.to_owned(),
            hint: hint.to_owned(),
        })
    }
}

/// The path of a field within another.
fn below(at: &str, name: &str) -> String {
    if at.is_empty() {
        return name.to_owned();
    }
    format!("{at}.{name}")
}

/// The schema in its parent: in a list, a map or a required field, an absent `Option` is null.
fn in_place(rewritten: Rewritten, must_be_there: bool) -> Value {
    let mut schema = rewritten.schema;
    if rewritten.optional && must_be_there {
        schema.insert("nullable".into(), true.into());
        admit_null(&mut schema);
    }
    schema.into()
}

/// An `enum` never admits null, not even one that contains it: a server compares values by their type, and null has none. A
/// pattern restricts only strings, so it replaces the `enum`.
fn admit_null(schema: &mut Map<String, Value>) {
    let values = schema.get("enum").and_then(Value::as_array);
    let texts: Option<Vec<String>> = values.and_then(|values| {
        let texts = values.iter().filter(|value| !value.is_null());
        texts.map(|value| value.as_str().map(literally)).collect()
    });
    if let Some(texts) = texts.filter(|_| !schema.contains_key("pattern")) {
        schema.remove("enum");
        schema.insert("pattern".into(), format!("^({})$", texts.join("|")).into());
    }
}

/// A pattern that matches a text and nothing else.
fn literally(text: &str) -> String {
    let mut pattern = String::with_capacity(text.len());
    for c in text.chars() {
        if "\\.+*?()|[]{}^$".contains(c) {
            pattern.push('\\');
        }
        pattern.push(c);
    }
    pattern
}

/// A choice among conditions on what is declared beside it.
fn bare_choice(keyword: &str, variants: &[Value]) -> Option<Map<String, Value>> {
    let mut conditions: Vec<Value> = Vec::new();
    for variant in variants {
        let condition = conditions::condition(variant)
            .ok()
            .filter(|condition| !condition.is_empty())?;
        conditions.push(condition.into());
    }
    Some(members([(keyword, conditions.into())]))
}

/// Whether a schema admits everything.
fn admits_everything(schema: &Value) -> bool {
    match schema {
        Value::Object(schema) => schema.keys().all(|key| keywords::is_note(key)),
        other => *other == Value::Bool(true),
    }
}

/// A schema without its conditions, for a flattened enum that may be absent.
fn without_conditions(mut schema: Map<String, Value>) -> Map<String, Value> {
    if schema.get("type").and_then(Value::as_str) != Some("object") {
        return members([(PRESERVE_UNKNOWN_FIELDS, true.into())]);
    }
    for condition in ["required", "oneOf", "anyOf", "allOf", "not"] {
        schema.remove(condition);
    }
    schema
}

/// Joins the description of an enum with those of its values.
fn describe_values(rewritten: &mut Map<String, Value>, choice: &Map<String, Value>) {
    let said = |schema: &Map<String, Value>| schema.get("description").and_then(Value::as_str).map(str::to_owned);
    if let (Some(own), Some(values)) = (said(rewritten), said(choice))
        && choice.contains_key("enum")
        && values.starts_with("- `")
    {
        rewritten.insert("description".into(), format!("{own}\n\n{values}").into());
    }
}

/// The name of the type that a reference refers to.
pub(super) fn name_of(reference: &str) -> &str {
    match reference.rsplit('/').next() {
        Some("#") | None => "the type itself",
        Some(name) => name,
    }
}
