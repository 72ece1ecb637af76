//! The walk over a type's schema: references are put in place, nulls and choices settled, keywords translated.

use serde_json::{Map, Value};

use super::choice::members;
use super::{SOURCE, choice, combine, conditions, declare, defaults, formats, keywords, known};
use crate::{Location, Problem};

/// A schema may be nested this deep; what is deeper refers to itself in a way that was not seen.
const DEEPEST: usize = 128;

/// Fields that a schema does not name are kept.
pub(super) const OPEN: &str = "x-kubernetes-preserve-unknown-fields";

/// Keywords that say of which type a value is.
const DECLARING: [&str; 5] = ["type", "$ref", "properties", "items", "x-kubernetes-int-or-string"];

/// Which of two possible forms a schema takes.
///
/// ```
/// use kubewright_manifests::schema::Forms;
///
/// assert!(Forms::default().embedded_metadata);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Forms {
    /// The metadata of a template keeps its name, namespace, labels, annotations and finalizers. Without it they are pruned.
    pub embedded_metadata: bool,
}

impl Default for Forms {
    fn default() -> Self {
        Forms {
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
    structural_with(root, at, &Forms::default())
}

/// The structural schema of a type in the forms that are asked for.
///
/// ```
/// use kubewright_manifests::schema::{Forms, structural_with};
/// use serde_json::json;
///
/// let name = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
/// let metadata = json!({ "$ref": format!("#/$defs/{name}"), "$defs": { name: {} } });
/// let forms = Forms { embedded_metadata: false };
/// assert_eq!(structural_with(&metadata, "spec.metadata", &forms).unwrap(), json!({ "type": "object" }));
/// ```
pub fn structural_with(root: &Value, at: &str, forms: &Forms) -> Result<Value, Vec<Problem>> {
    let mut walk = Walk {
        root,
        forms,
        open: Vec::new(),
        sources: Vec::new(),
        problems: Vec::new(),
    };
    let mut schema = walk.schema(root, at, 0).schema;
    // The name of the outermost type, which `schemars` writes of itself.
    schema.remove("title");
    let mut problems = walk.problems;
    if problems.is_empty() {
        problems = declare::everywhere(&mut schema, root, at);
    }
    if problems.is_empty() {
        return Ok(schema.into());
    }
    Err(problems)
}

struct Walk<'s> {
    root: &'s Value,
    forms: &'s Forms,
    /// The references that are being put in place, outermost first.
    open: Vec<&'s str>,
    /// Where what is being looked at is written, outermost first.
    sources: Vec<&'s str>,
    problems: Vec<Problem>,
}

/// A schema in structural form.
#[derive(Default)]
struct Settled {
    schema: Map<String, Value>,
    /// Its value may be null: it is an `Option`.
    optional: bool,
}

impl<'s> Walk<'s> {
    /// The schema in structural form; what is wrong with it has been noted, and an empty one stands in its place.
    fn schema(&mut self, schema: &'s Value, at: &str, depth: usize) -> Settled {
        let Value::Object(schema) = schema else {
            // Anything at all.
            return Settled::default();
        };
        let source = schema.get(SOURCE).and_then(Value::as_str);
        self.sources.extend(source);
        let settled = self.object(schema, at, depth).unwrap_or_else(|problem| {
            self.problems.push(*problem);
            Settled::default()
        });
        if source.is_some() {
            self.sources.pop();
        }
        settled
    }

    fn object(&mut self, schema: &'s Map<String, Value>, at: &str, depth: usize) -> Result<Settled, Box<Problem>> {
        self.refuse(schema, at, depth)?;
        let mut settled = keywords::kept(schema);
        if let Some(value) = schema.get("const") {
            settled.insert("enum".into(), vec![value.clone()].into());
        }
        let mut optional = self.settle_type(&mut settled, at)?;
        self.children(schema, &mut settled, at, depth);
        if let Some(reference) = schema.get("$ref").and_then(Value::as_str) {
            let referred = self.referred(reference, at, depth)?;
            optional |= referred.optional;
            combine::merge(&mut settled, referred.schema);
        }
        for part in schema.get("allOf").and_then(Value::as_array).into_iter().flatten() {
            let part = match conditions::condition(part) {
                Ok(condition) if !condition.is_empty() => members([("allOf", vec![Value::from(condition)].into())]),
                _ => self.schema(part, at, depth + 1).schema,
            };
            combine::merge(&mut settled, part);
        }
        for (keyword, exclusive) in [("oneOf", true), ("anyOf", false)] {
            if let Some(variants) = schema.get(keyword).and_then(Value::as_array) {
                let is_declared = DECLARING.iter().any(|key| schema.contains_key(*key));
                let choice = match bare_choice(keyword, variants).filter(|_| is_declared) {
                    Some(schema) => Settled {
                        schema,
                        optional: false,
                    },
                    None => self.choice(exclusive, variants, at, depth)?,
                };
                optional |= choice.optional;
                describe_values(&mut settled, &choice.schema);
                combine::merge(&mut settled, choice.schema);
            }
        }
        if let Some(not) = schema.get("not") {
            let not = self.condition(not, at)?;
            combine::merge(&mut settled, members([("not", not.into())]));
        }
        keywords::settle_bounds(&mut settled);
        keywords::settle_unique(schema, &mut settled);
        formats::settle(&mut settled);
        defaults::settle(&mut settled);
        declare::imply(&mut settled);
        Ok(Settled {
            schema: settled,
            optional,
        })
    }

    /// What no definition can hold.
    fn refuse(&self, schema: &'s Map<String, Value>, at: &str, depth: usize) -> Result<(), Box<Problem>> {
        if depth > DEEPEST {
            return Err(self.problem(at, "it is nested too deeply", "flatten the type"));
        }
        if let Some(keyword) = keywords::foreign(schema) {
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

    /// The schema that a reference means, in place of it.
    fn referred(&mut self, reference: &'s str, at: &str, depth: usize) -> Result<Settled, Box<Problem>> {
        if self.open.contains(&reference) || (reference == "#" && depth > 0) {
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
        if let Some(schema) = known::instead(name, self.forms) {
            return Ok(Settled {
                schema,
                optional: false,
            });
        }
        self.open.push(reference);
        let mut settled = self.schema(target, at, depth + 1);
        self.open.pop();
        known::refine(name, &mut settled.schema);
        Ok(settled)
    }

    /// One type, without null: whether a field may be left out is for `required` to say. Tells whether null was among them.
    fn settle_type(&self, settled: &mut Map<String, Value>, at: &str) -> Result<bool, Box<Problem>> {
        let types = match settled.get("type") {
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
                settled.insert("type".into(), one);
                if let Some(Value::Array(values)) = settled.get_mut("enum") {
                    values.retain(|value| !value.is_null());
                }
                Ok(is_optional)
            }
            _ => Err(self.problem(at, "it is of several types at once", "use one type")),
        }
    }

    fn children(&mut self, schema: &'s Map<String, Value>, settled: &mut Map<String, Value>, at: &str, depth: usize) {
        if let Some(properties) = schema.get("properties").and_then(Value::as_object) {
            let required = schema.get("required").and_then(Value::as_array);
            let is_required = |name: &str| required.is_some_and(|names| names.iter().any(|other| other == name));
            let mut own: Map<String, Value> = Map::new();
            for (name, property) in properties {
                let property = self.schema(property, &below(at, name), depth + 1);
                // A field that may be left out need not be null; one that may not is there, as null.
                own.insert(name.clone(), in_place(property, is_required(name)));
            }
            settled.insert("properties".into(), own.into());
        }
        if let Some(items) = schema.get("items") {
            let items = self.schema(items, &format!("{at}[]"), depth + 1);
            settled.insert("items".into(), in_place(items, true));
        }
        // A map whose keys are numbers has a pattern for them; their values have one schema all the same.
        let values = match schema.get("additionalProperties") {
            Some(Value::Bool(false)) | None => {
                let patterns = schema.get("patternProperties").and_then(Value::as_object);
                patterns.and_then(|patterns| patterns.values().next())
            }
            given => given,
        };
        match values {
            None => {}
            // Fields beside the known ones are kept as they are: no schema can say what they hold.
            Some(_) if settled.contains_key("properties") => {
                settled.insert(OPEN.into(), true.into());
            }
            Some(values) => {
                let values = self.schema(values, &below(at, "*"), depth + 1);
                settled.insert("additionalProperties".into(), in_place(values, true));
            }
        }
    }

    /// A choice without the alternative null, which only says that the field may be left out.
    fn choice(&mut self, exclusive: bool, all: &'s [Value], at: &str, depth: usize) -> Result<Settled, Box<Problem>> {
        let is_null = |variant: &&Value| variant.get("type").and_then(Value::as_str) == Some("null");
        let variants: Vec<&Value> = all.iter().filter(|variant| !is_null(variant)).collect();
        let optional = variants.len() < all.len();
        if let [only] = variants.as_slice() {
            let mut only = self.schema(only, at, depth + 1);
            only.optional |= optional;
            return Ok(only);
        }
        let before = self.problems.len();
        let (anything, something): (Vec<&Value>, Vec<&Value>) = variants.into_iter().partition(|one| says_nothing(one));
        let settled: Vec<Settled> = something
            .into_iter()
            .map(|variant| self.schema(variant, at, depth + 1))
            .collect();
        if self.problems.len() > before {
            return Ok(Settled::default());
        }
        let optional = optional || settled.iter().any(|variant| variant.optional);
        let mut variants: Vec<Map<String, Value>> = settled.into_iter().map(|variant| variant.schema).collect();
        let mut schema = match variants.len() {
            1 => variants.remove(0),
            _ => choice::settle(exclusive, variants, &|message, hint| self.problem(at, message, hint))?,
        };
        if !anything.is_empty() {
            schema = unless(schema);
        }
        Ok(Settled { schema, optional })
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
                field_ty: self.open.last().map(|reference| name_of(reference).to_owned()),
                source: self.sources.last().map(|source| (*source).to_owned()),
                ..Location::default()
            },
            message: message.to_owned(),
            hint: hint.to_owned(),
        })
    }
}

/// The field of a field.
fn below(at: &str, name: &str) -> String {
    if at.is_empty() {
        return name.to_owned();
    }
    format!("{at}.{name}")
}

/// The schema where it stands: in a list, a map or a field that must be there, an absent `Option` is null.
fn in_place(settled: Settled, must_be_there: bool) -> Value {
    let mut schema = settled.schema;
    if settled.optional && must_be_there {
        schema.insert("nullable".into(), true.into());
        admit_null(&mut schema);
    }
    schema.into()
}

/// A list of values never admits null, not even one that holds it: a server compares values by their type, and null has none.
/// Patterns are for texts alone.
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
fn says_nothing(schema: &Value) -> bool {
    match schema {
        Value::Object(schema) => schema.keys().all(|key| keywords::is_note(key)),
        other => *other == Value::Bool(true),
    }
}

/// A schema whose conditions need not hold, as of an enum that is flattened and may be missing.
fn unless(mut schema: Map<String, Value>) -> Map<String, Value> {
    if schema.get("type").and_then(Value::as_str) != Some("object") {
        return members([(OPEN, true.into())]);
    }
    for condition in ["required", "oneOf", "anyOf", "allOf", "not"] {
        schema.remove(condition);
    }
    schema
}

/// What the values of an enum are for joins what the enum is for.
fn describe_values(settled: &mut Map<String, Value>, choice: &Map<String, Value>) {
    let said = |schema: &Map<String, Value>| schema.get("description").and_then(Value::as_str).map(str::to_owned);
    if let (Some(own), Some(values)) = (said(settled), said(choice))
        && choice.contains_key("enum")
        && values.starts_with("- `")
    {
        settled.insert("description".into(), format!("{own}\n\n{values}").into());
    }
}

/// The name of the type that a reference means.
pub(super) fn name_of(reference: &str) -> &str {
    match reference.rsplit('/').next() {
        Some("#") | None => "the type itself",
        Some(name) => name,
    }
}
