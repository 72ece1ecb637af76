//! What the code of `#[kubewright::resource]` and `#[kubewright::schema]` calls: markers put into the schemas of types.

use kube::Resource;
use schemars::Schema;
use serde::Serialize;
use serde_json::{Map, Value, json};

/// Whether a field that may be left out holds nothing: what its type has by default.
pub fn is_unset<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// The description of a kind that has no doc comment.
pub fn described<K: Resource<DynamicType = ()>>() -> String {
    format!("{} is the schema of the {} API.", K::kind(&()), K::plural(&()))
}

/// A transform that says what a field is where it is missing.
pub fn default(value: Option<Value>) -> impl FnMut(&mut Schema) {
    move |schema| {
        schema.remove("default");
        if let Some(value) = &value {
            schema.insert("default".to_owned(), value.clone());
        }
    }
}

/// A transform that puts markers into a schema.
pub fn mark(marks: Value) -> impl FnMut(&mut Schema) {
    move |schema| {
        let object = schema.ensure_object();
        if let Value::Object(marks) = &marks {
            apply(object, marks);
        }
    }
}

fn apply(schema: &mut Map<String, Value>, marks: &Map<String, Value>) {
    let is_set = |name: &str| marks.get(name) == Some(&Value::Bool(true));
    if is_set("option") {
        leave_null_out(schema);
    }
    if is_set("anew") {
        schema.retain(|key, _| matches!(key.as_str(), "description" | "default" | "title"));
    }
    if let Some(Value::Object(keywords)) = marks.get("keywords") {
        // Another type than the Rust type's: its format, bounds and fields are not meant.
        if keywords.get("type").is_some_and(|ty| schema.get("type") != Some(ty)) {
            schema.retain(|key, _| matches!(key.as_str(), "description" | "default" | "title"));
        }
        schema.extend(keywords.clone());
    }
    if is_set("nonEmpty") {
        make_non_empty(schema);
    }
    if is_set("embedded") && !schema.contains_key("$ref") {
        schema.entry("type").or_insert_with(|| "object".into());
        // Without fields of its own it would be emptied.
        if !schema.contains_key("properties") {
            schema.insert("x-kubernetes-preserve-unknown-fields".into(), true.into());
        }
    }
    for (name, keyword) in [("items", "items"), ("values", "additionalProperties")] {
        if let Some(Value::Object(marks)) = marks.get(name) {
            let inside = schema.entry(keyword).or_insert_with(|| json!({}));
            if !inside.is_object() {
                *inside = json!({});
            }
            if let Value::Object(inside) = inside {
                apply(inside, marks);
            }
        }
    }
    if let Some(Value::Array(rules)) = marks.get("rules").filter(|rules| **rules != json!([])) {
        let known = schema.entry("x-kubernetes-validations").or_insert_with(|| json!([]));
        if let Value::Array(known) = known {
            known.extend(rules.iter().cloned());
        }
    }
    if let Some(Value::Array(names)) = marks.get("required") {
        let known = schema.entry("required").or_insert_with(|| json!([]));
        if let Value::Array(known) = known {
            let new: Vec<Value> = names.iter().filter(|name| !known.contains(name)).cloned().collect();
            known.extend(new);
        }
    }
    if let Some(source) = marks.get("source") {
        schema.insert("x-kubewright-source".into(), source.clone());
    }
}

/// An `Option` may be left out; null is nothing that the API server takes for it.
fn leave_null_out(schema: &mut Map<String, Value>) {
    if let Some(Value::Array(types)) = schema.get_mut("type") {
        types.retain(|name| name != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            schema.insert("type".into(), only);
        }
    }
    if let Some(Value::Array(values)) = schema.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
    if schema.get("default").is_some_and(Value::is_null) {
        schema.remove("default");
    }
    let Some(Value::Array(choice)) = schema.get_mut("anyOf") else {
        return;
    };
    choice.retain(|one| one.get("type").and_then(Value::as_str) != Some("null"));
    if let [Value::Object(only)] = choice.as_mut_slice() {
        let only = std::mem::take(only);
        schema.remove("anyOf");
        for (key, value) in only {
            // The attributes of the field take precedence over those of its type.
            schema.entry(key).or_insert(value);
        }
    }
}

/// What `+k8s:required` of kubebuilder adds: an empty value counts as none.
fn make_non_empty(schema: &mut Map<String, Value>) {
    let keyword = match schema.get("type").and_then(Value::as_str) {
        Some("string") => "minLength",
        Some("array") => "minItems",
        Some("object") | None => "minProperties",
        Some(_) => return,
    };
    schema.entry(keyword).or_insert_with(|| 1.into());
}

/// The schema of a whole object in the making.
#[derive(Debug)]
pub struct Root {
    schema: Map<String, Value>,
}

impl Root {
    /// An object with a spec.
    pub fn with_spec(spec: Schema) -> Self {
        let mut root = Root::flat(Schema::from(Map::new()));
        root.property("spec", spec.to_value());
        root.schema.insert("required".into(), json!(["spec"]));
        root
    }

    /// An object whose fields are its spec's.
    pub fn flat(spec: Schema) -> Self {
        let mut schema = match spec.to_value() {
            Value::Object(schema) => schema,
            _ => Map::new(),
        };
        schema.insert("type".into(), "object".into());
        let mut root = Root { schema };
        root.property("apiVersion", json!({ "type": "string" }));
        root.property("kind", json!({ "type": "string" }));
        root.property("metadata", json!({ "type": "object" }));
        root
    }

    /// With a status.
    pub fn status(mut self, status: Schema) -> Self {
        self.property("status", status.to_value());
        self
    }

    /// With a spec that may be left out, because it has a default.
    pub fn default<S: Serialize>(mut self, spec: &S) -> Self {
        if let (Ok(default), Some(Value::Object(schema))) =
            (serde_json::to_value(spec), self.schema["properties"].get_mut("spec"))
        {
            schema.insert("default".into(), default);
            self.schema.remove("required");
        }
        self
    }

    /// The schema, with what is said of the object as a whole.
    pub fn finish(self, marks: Value) -> Schema {
        let mut schema = Schema::from(self.schema);
        mark(marks)(&mut schema);
        schema
    }

    fn property(&mut self, name: &str, schema: Value) {
        let properties = self.schema.entry("properties").or_insert_with(|| json!({}));
        if let Value::Object(properties) = properties {
            properties.insert(name.to_owned(), schema);
        }
    }
}
