//! The schema of a whole object: `apiVersion`, `kind` and `metadata`, and what the type declares.

use kubewright_description::DefinitionDescription;
use serde_json::{Map, Value, json};

use super::DefinitionOptions;
use crate::Problem;
use crate::schema::{SchemaOptions, structural_with};

/// The schema of a version; `None` if problems were added.
pub(super) fn schema(
    version: &DefinitionDescription,
    options: &DefinitionOptions,
    problems: &mut Vec<Problem>,
) -> Option<Value> {
    let schema_options = SchemaOptions {
        embedded_metadata: options.embedded_metadata,
    };
    let mut schema = match structural_with(&version.schema, "", &schema_options) {
        Ok(Value::Object(schema)) => schema,
        Ok(_) => Map::new(),
        Err(found) => {
            problems.extend(found.into_iter().map(|mut problem| {
                problem.location.ty = Some(version.ty.clone());
                problem
            }));
            return None;
        }
    };
    if schema.get("type").and_then(Value::as_str) != Some("object") {
        let message = "an object of the API is a JSON object, and this type is not";
        problems.push(Problem::of_type(&version.ty, message, "make it a struct with a `spec`"));
        return None;
    }
    let properties = schema.entry("properties").or_insert_with(|| json!({}));
    if let Value::Object(properties) = properties {
        let metadata = metadata(properties.get("metadata"));
        properties.insert("metadata".into(), metadata);
        properties.insert(
            "apiVersion".into(),
            json!({ "description": "The group and version of this object.", "type": "string" }),
        );
        properties.insert(
            "kind".into(),
            json!({ "description": "The kind of this object, in CamelCase.", "type": "string" }),
        );
    }
    // The API server checks these itself.
    if let Some(Value::Array(required)) = schema.get_mut("required") {
        required.retain(|name| !matches!(name.as_str(), Some("apiVersion" | "kind" | "metadata")));
        if required.is_empty() {
            schema.remove("required");
        }
    }
    let mut schema = Value::Object(schema);
    options.descriptions.cut(&mut schema);
    Some(schema)
}

/// An API server accepts no restriction of an object's metadata but of its name.
fn metadata(given: Option<&Value>) -> Value {
    let restricted: Map<String, Value> = ["name", "generateName"]
        .into_iter()
        .filter_map(|name| {
            let schema = given?.get("properties")?.get(name)?;
            let says_more = schema
                .as_object()?
                .keys()
                .any(|key| !matches!(key.as_str(), "type" | "description"));
            says_more.then(|| (name.to_owned(), schema.clone()))
        })
        .collect();
    if restricted.is_empty() {
        return json!({ "type": "object" });
    }
    json!({ "type": "object", "properties": restricted })
}
