//! Documents of `OpenAPI` v2 as documents of v3, for servers that have no others: what upstream's aggregator makes of them, and nothing
//! more. Of a schema, what stands below `allOf` and its kin is left as it is, as there.

use serde_json::{Map, Value, json};

type Fields = Map<String, Value>;

/// A document of v3 that says what one of v2 does. `None` if it is no such document.
pub(super) fn translated(swagger: &Value) -> Option<Value> {
    let swagger = swagger.as_object()?;
    let mut document = kept(swagger, &["info", "externalDocs"], false);
    document.insert("openapi".to_owned(), "3.0.0".into());
    if let Some(paths) = swagger.get("paths").and_then(Value::as_object) {
        let paths = paths.iter().map(|(name, item)| (name.clone(), path_item(item)));
        document.insert("paths".to_owned(), paths.collect::<Fields>().into());
    }
    document.insert("components".to_owned(), components(swagger));
    Some(document.into())
}

/// Some fields of an object, and its extensions if they are wanted.
fn kept(from: &Fields, names: &[&str], extensions: bool) -> Fields {
    let is_kept = |name: &str| names.contains(&name) || (extensions && name.starts_with("x-"));
    let fields = from.iter().filter(|(name, _)| is_kept(name));
    fields.map(|(name, value)| (name.clone(), value.clone())).collect()
}

fn components(swagger: &Fields) -> Value {
    let mut components = Fields::new();
    let mut section = |from: &str, to: &str, translate: &dyn Fn(&Value) -> Value| {
        if let Some(all) = swagger.get(from).and_then(Value::as_object) {
            let all = all.iter().map(|(name, value)| (name.clone(), translate(value)));
            components.insert(to.to_owned(), all.collect::<Fields>().into());
        }
    };
    let produces = strings(swagger.get("produces"));
    section("definitions", "schemas", &schema);
    section("securityDefinitions", "securitySchemes", &security);
    section("responses", "responses", &|value| response(value, &produces));
    components.into()
}

/// A schema whose references lead to where those of v3 are. A reference has nothing beside it: the rest is around it.
fn schema(value: &Value) -> Value {
    let Some(fields) = value.as_object() else {
        return value.clone();
    };
    let mut fields = fields.clone();
    for (name, value) in &mut fields {
        match (name.as_str(), &mut *value) {
            ("properties", Value::Object(all)) => all.values_mut().for_each(|value| *value = schema(value)),
            ("items", Value::Array(all)) => all.iter_mut().for_each(|value| *value = schema(value)),
            ("items" | "additionalProperties" | "additionalItems", Value::Object(_)) => *value = schema(value),
            _ => {}
        }
    }
    let reference = fields.get("$ref").and_then(Value::as_str);
    let reference = reference.and_then(|reference| reference.split_once("#/definitions/"));
    let Some(reference) = reference.map(|(_, name)| json!(format!("#/components/schemas/{name}"))) else {
        return fields.into();
    };
    fields.remove("$ref");
    if fields.is_empty() {
        return json!({ "$ref": reference });
    }
    fields.insert("allOf".to_owned(), json!([{ "$ref": reference }]));
    fields.into()
}

fn security(value: &Value) -> Value {
    let Some(fields) = value.as_object() else {
        return value.clone();
    };
    let mut scheme = kept(fields, &["description", "type", "name", "in"], true);
    if let Some(flow) = fields
        .get("flow")
        .and_then(Value::as_str)
        .filter(|flow| !flow.is_empty())
    {
        let flows = kept(fields, &["authorizationUrl", "tokenUrl", "scopes"], false);
        scheme.insert("flows".to_owned(), json!({ flow: flows }));
    }
    scheme.into()
}

fn path_item(value: &Value) -> Value {
    const METHODS: [&str; 7] = ["get", "put", "post", "delete", "options", "head", "patch"];
    let Some(fields) = value.as_object() else {
        return value.clone();
    };
    let mut item = kept(fields, &["$ref"], true);
    for (name, value) in fields {
        if METHODS.contains(&name.as_str()) {
            item.insert(name.clone(), operation(value));
        }
    }
    let parameters = list(fields.get("parameters"));
    if !parameters.is_empty() {
        let parameters: Vec<Value> = parameters.iter().map(parameter).collect();
        item.insert("parameters".to_owned(), parameters.into());
    }
    item.into()
}

fn operation(value: &Value) -> Value {
    let Some(fields) = value.as_object() else {
        return value.clone();
    };
    let simple = [
        "description",
        "externalDocs",
        "tags",
        "summary",
        "deprecated",
        "operationId",
    ];
    let mut operation = kept(fields, &simple, true);
    let mut parameters = Vec::new();
    for given in list(fields.get("parameters")) {
        let body = given
            .get("schema")
            .filter(|schema| schema.is_object() && given["name"] == "body");
        if let Some(body) = body {
            let content = content(body, &strings(fields.get("consumes")));
            operation.insert("requestBody".to_owned(), content.into());
        } else {
            parameters.push(parameter(given));
        }
    }
    if !parameters.is_empty() {
        operation.insert("parameters".to_owned(), parameters.into());
    }
    let produces = strings(fields.get("produces"));
    let responses = fields.get("responses").and_then(Value::as_object);
    let responses = responses.into_iter().flatten().map(|(code, value)| {
        let value = if code.starts_with("x-") {
            value.clone()
        } else {
            response(value, &produces)
        };
        (code.clone(), value)
    });
    operation.insert("responses".to_owned(), responses.collect::<Fields>().into());
    operation.into()
}

fn response(value: &Value, produces: &[&str]) -> Value {
    let Some(fields) = value.as_object() else {
        return value.clone();
    };
    let mut response = kept(fields, &["description"], true);
    if let Some(reference) = fields.get("$ref").and_then(Value::as_str) {
        let reference = reference.replacen("#/responses/", "#/components/responses/", 1);
        response.insert("$ref".to_owned(), reference.into());
    }
    if let Some(body) = fields.get("schema") {
        response.append(&mut content(body, produces));
    }
    response.into()
}

/// A body in each of its forms.
fn content(body: &Value, forms: &[&str]) -> Fields {
    let mut fields = Fields::new();
    if !forms.is_empty() {
        let body = json!({ "schema": schema(body) });
        let forms = forms.iter().map(|form| ((*form).to_owned(), body.clone()));
        fields.insert("content".to_owned(), forms.collect::<Fields>().into());
    }
    fields
}

fn parameter(value: &Value) -> Value {
    let Some(fields) = value.as_object() else {
        return value.clone();
    };
    let names = ["name", "description", "in", "required", "allowEmptyValue"];
    let mut parameter = kept(fields, &names, true);
    if let Some(reference) = fields.get("$ref").and_then(Value::as_str) {
        let reference = reference.replacen("#/parameters/", "#/components/parameters/", 1);
        parameter.insert("$ref".to_owned(), reference.into());
    }
    let schema = if let Some(given) = fields.get("schema") {
        schema(given)
    } else {
        let mut simple = kept(fields, &["type", "format", "uniqueItems"], false);
        // One that is elsewhere has none, and Go's empty text in its place.
        simple.entry("type").or_insert_with(|| "".into());
        simple.into()
    };
    parameter.insert("schema".to_owned(), schema);
    parameter.into()
}

fn list(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn strings(value: Option<&Value>) -> Vec<&str> {
    list(value).iter().filter_map(Value::as_str).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reference_with_something_beside_it_is_wrapped() {
        let alone = json!({ "$ref": "#/definitions/a" });
        assert_eq!(schema(&alone), json!({ "$ref": "#/components/schemas/a" }));
        let described = json!({ "$ref": "#/definitions/a", "description": "d" });
        let wrapped = json!({ "allOf": [{ "$ref": "#/components/schemas/a" }], "description": "d" });
        assert_eq!(schema(&described), wrapped);
        let nested = json!({ "type": "array", "items": described });
        assert_eq!(schema(&nested), json!({ "type": "array", "items": wrapped }));
    }

    #[test]
    fn what_is_no_document_is_none() {
        assert_eq!(translated(&json!([])), None);
        let empty = json!({ "openapi": "3.0.0", "components": {} });
        assert_eq!(translated(&json!({ "swagger": "2.0" })), Some(empty));
    }
}
