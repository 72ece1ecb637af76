//! A sample object of a kind, made from its schema: it has the required fields, with values that the schema allows.
//! Validation rules that compare fields are not considered; the caller can validate a sample on an API server.

mod text;
mod value;

use serde_json::{Map, Value, json};

/// An object of that version, as small as its definition allows.
///
/// ```
/// use kubewright_manifests::samples::sample;
/// use serde_json::json;
///
/// let definition = json!({ "spec": {
///     "group": "example.com",
///     "names": { "kind": "Tree" },
///     "versions": [{ "name": "v1", "schema": { "openAPIV3Schema": { "type": "object", "properties": {
///         "spec": { "type": "object", "required": ["height"], "properties": {
///             "height": { "type": "integer", "minimum": 3 },
///             "color": { "type": "string" },
///         } },
///     } } } }],
/// } });
/// assert_eq!(
///     sample(&definition, "v1").unwrap(),
///     json!({
///         "apiVersion": "example.com/v1",
///         "kind": "Tree",
///         "metadata": { "name": "tree-sample" },
///         "spec": { "height": 3 },
///     })
/// );
/// ```
pub fn sample(definition: &Value, version: &str) -> Option<Value> {
    let spec = definition.get("spec")?;
    let (group, kind) = (spec.get("group")?.as_str()?, spec.pointer("/names/kind")?.as_str()?);
    let versions = spec.get("versions")?.as_array()?;
    let version = versions
        .iter()
        .find(|known| known.get("name").and_then(Value::as_str) == Some(version))?;
    let name = version.get("name")?.as_str()?;
    let mut object: Map<String, Value> = match version.pointer("/schema/openAPIV3Schema") {
        Some(schema) => match value::of(schema, "", 0) {
            Value::Object(object) => object,
            _ => Map::new(),
        },
        None => Map::new(),
    };
    object.remove("status");
    if let Some(spec) = version.pointer("/schema/openAPIV3Schema/properties/spec") {
        object.entry("spec").or_insert_with(|| value::of(spec, "spec", 0));
    }
    object.insert("apiVersion".into(), format!("{group}/{name}").into());
    object.insert("kind".into(), kind.into());
    object.insert(
        "metadata".into(),
        json!({ "name": format!("{}-sample", kind.to_lowercase()) }),
    );
    Some(object.into())
}
