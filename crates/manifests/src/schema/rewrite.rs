//! The walk over a type's schema: references are put in place, nulls and choices settled, keywords translated.

use serde_json::{Map, Value};

use super::choice::members;
use super::mistake::Mistake;
use super::{choice, keywords, numbers};

/// A schema may be nested this deep; what is deeper refers to itself in a way that was not seen.
const DEEPEST: usize = 128;

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
/// let mistakes = structural(&pair, "spec").unwrap_err();
/// assert_eq!(mistakes[0].field, "spec");
/// ```
pub fn structural(root: &Value, at: &str) -> Result<Value, Vec<Mistake>> {
    let mut walk = Walk {
        root,
        open: Vec::new(),
        mistakes: Vec::new(),
    };
    let schema = walk.schema(root, at, 0);
    if walk.mistakes.is_empty() {
        return Ok(schema.into());
    }
    Err(walk.mistakes)
}

struct Walk<'s> {
    root: &'s Value,
    /// The references that are being put in place, outermost first.
    open: Vec<&'s str>,
    mistakes: Vec<Mistake>,
}

impl<'s> Walk<'s> {
    /// The schema in structural form; what is wrong with it has been noted, and an empty one stands in its place.
    fn schema(&mut self, schema: &'s Value, at: &str, depth: usize) -> Map<String, Value> {
        match schema {
            Value::Object(schema) => match self.object(schema, at, depth) {
                Ok(schema) => schema,
                Err(mistake) => {
                    self.mistakes.push(mistake);
                    Map::new()
                }
            },
            // Anything at all.
            _ => members([("x-kubernetes-preserve-unknown-fields", true.into())]),
        }
    }

    fn object(
        &mut self,
        schema: &'s Map<String, Value>,
        at: &str,
        depth: usize,
    ) -> Result<Map<String, Value>, Mistake> {
        if depth > DEEPEST {
            return Err(self.mistake(at, "it is nested too deeply", "flatten the type"));
        }
        if let Some(keyword) = keywords::foreign(schema) {
            let problem = format!("a definition cannot hold the keyword {keyword:?}");
            return Err(self.mistake(
                at,
                &problem,
                "describe the field otherwise, with `#[schemars(schema_with = \"…\")]`",
            ));
        }
        if schema.contains_key("prefixItems") {
            let hint = "use a struct with named fields, or an array of one type";
            return Err(self.mistake(at, "a tuple has no structural schema", hint));
        }
        let mut settled = match schema.get("$ref").and_then(Value::as_str) {
            Some(reference) => self.referred(reference, at, depth)?,
            None => Map::new(),
        };
        // What stands beside a reference is said of this field.
        overlay(&mut settled, keywords::kept(schema));
        if let Some(example) = schema.get("example") {
            settled.insert("example".into(), example.clone());
        }
        if let Some(value) = schema.get("const") {
            settled.insert("enum".into(), vec![value.clone()].into());
        }
        self.settle_type(&mut settled, at)?;
        self.children(schema, &mut settled, at, depth);
        for part in schema.get("allOf").and_then(Value::as_array).into_iter().flatten() {
            let part = self.schema(part, at, depth + 1);
            overlay(&mut settled, part);
        }
        for (keyword, exclusive) in [("oneOf", true), ("anyOf", false)] {
            if let Some(variants) = schema.get(keyword).and_then(Value::as_array) {
                let choice = self.choice(exclusive, variants, at, depth)?;
                overlay(&mut settled, choice);
            }
        }
        if let Some(not) = schema.get("not") {
            settled.insert("not".into(), not.clone());
        }
        keywords::settle_bounds(&mut settled);
        numbers::settle_format(&mut settled);
        if settled.keys().all(|key| key == "description" || key == "default") {
            settled.insert("x-kubernetes-preserve-unknown-fields".into(), true.into());
        }
        Ok(settled)
    }

    /// The schema that a reference means, in place of it.
    fn referred(&mut self, reference: &'s str, at: &str, depth: usize) -> Result<Map<String, Value>, Mistake> {
        if self.open.contains(&reference) || (reference == "#" && depth > 0) {
            let hint = "a definition cannot hold a type that contains itself: refer to other objects by name, or keep \
                        the inner part as `serde_json::Value`";
            return Err(self.mistake(
                at,
                &format!("it contains itself (through {})", name_of(reference)),
                hint,
            ));
        }
        let pointer = reference.strip_prefix('#').unwrap_or(reference);
        let Some(target) = self.root.pointer(pointer) else {
            let problem = format!("it refers to {reference}, which the schema does not define");
            return Err(self.mistake(at, &problem, "generate the schema with its definitions"));
        };
        self.open.push(reference);
        let settled = self.schema(target, at, depth + 1);
        self.open.pop();
        Ok(settled)
    }

    /// One type, without null: whether a field may be left out is for `required` to say.
    fn settle_type(&self, settled: &mut Map<String, Value>, at: &str) -> Result<(), Mistake> {
        let types = match settled.get("type") {
            Some(Value::Array(types)) => types.clone(),
            Some(Value::String(name)) if name == "null" => {
                let hint = "leave the field out";
                return Err(self.mistake(at, "a field that is always null says nothing", hint));
            }
            _ => return Ok(()),
        };
        let mut types = types.into_iter().filter(|name| name != "null");
        match (types.next(), types.next()) {
            (Some(one), None) => {
                settled.insert("type".into(), one);
                if let Some(Value::Array(values)) = settled.get_mut("enum") {
                    values.retain(|value| !value.is_null());
                }
                if settled.get("default").is_some_and(Value::is_null) {
                    settled.remove("default");
                }
                Ok(())
            }
            _ => Err(self.mistake(at, "it is of several types at once", "use one type")),
        }
    }

    fn children(&mut self, schema: &'s Map<String, Value>, settled: &mut Map<String, Value>, at: &str, depth: usize) {
        if let Some(properties) = schema.get("properties").and_then(Value::as_object) {
            let own = properties.iter().map(|(name, property)| {
                let property = self.schema(property, &format!("{at}.{name}"), depth + 1);
                (name.clone(), Value::Object(property))
            });
            let own: Map<String, Value> = own.collect();
            overlay(settled, members([("properties", own.into())]));
        }
        if let Some(items) = schema.get("items") {
            let items = self.schema(items, &format!("{at}[]"), depth + 1);
            settled.insert("items".into(), items.into());
        }
        let has_properties = settled.contains_key("properties");
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
            Some(_) if has_properties => {
                settled.insert("x-kubernetes-preserve-unknown-fields".into(), true.into());
            }
            Some(values) => {
                let values = self.schema(values, &format!("{at}.*"), depth + 1);
                settled.insert("additionalProperties".into(), values.into());
            }
        }
    }

    /// A choice without the alternative null, which only says that the field may be left out.
    fn choice(
        &mut self,
        exclusive: bool,
        variants: &'s [Value],
        at: &str,
        depth: usize,
    ) -> Result<Map<String, Value>, Mistake> {
        let is_null = |variant: &&Value| variant.get("type").and_then(Value::as_str) == Some("null");
        let variants: Vec<&Value> = variants.iter().filter(|variant| !is_null(variant)).collect();
        if let [only] = variants.as_slice() {
            return Ok(self.schema(only, at, depth + 1));
        }
        let before = self.mistakes.len();
        let variants: Vec<_> = variants
            .into_iter()
            .map(|variant| self.schema(variant, at, depth + 1))
            .collect();
        if self.mistakes.len() > before {
            return Ok(Map::new());
        }
        choice::settle(exclusive, variants, &|problem, hint| self.mistake(at, problem, hint))
    }

    fn mistake(&self, at: &str, problem: &str, hint: &str) -> Mistake {
        Mistake {
            field: at.to_owned(),
            ty: self.open.last().map(|reference| name_of(reference).to_owned()),
            problem: problem.to_owned(),
            hint: hint.to_owned(),
        }
    }
}

/// The name of the type that a reference means.
fn name_of(reference: &str) -> &str {
    match reference.rsplit('/').next() {
        Some("#") | None => "the type itself",
        Some(name) => name,
    }
}

/// Adds to a schema what another says of the same value. Where both say something, `over` is nearer to the field.
fn overlay(schema: &mut Map<String, Value>, over: Map<String, Value>) {
    for (key, value) in over {
        match (schema.get_mut(&key), value) {
            (Some(Value::Object(known)), Value::Object(more)) if key == "properties" => known.extend(more),
            (Some(Value::Array(known)), Value::Array(more)) if key == "required" => {
                let new: Vec<Value> = more.into_iter().filter(|name| !known.contains(name)).collect();
                known.extend(new);
            }
            (_, value) => {
                schema.insert(key, value);
            }
        }
    }
}
