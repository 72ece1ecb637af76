//! Documents about the API as the real server writes them: members in the order of Go's types, those of maps sorted, extensions last.

use kubewright_codec::json;
use serde_json::Value;

/// Appends a document of `/openapi/v3` as compact JSON.
pub fn write_document(document: &Value, out: &mut Vec<u8>) {
    write(Shape::One(Part::Document), document, json::write_string, out);
}

/// Appends the document of `/openapi/v2` as compact JSON.
pub fn write_swagger(swagger: &Value, out: &mut Vec<u8>) {
    write(Shape::One(Part::Swagger), swagger, write_string_as_is, out);
}

/// Appends the groups of aggregated discovery as compact JSON.
pub fn write_discovery(groups: &Value, out: &mut Vec<u8>) {
    write(Shape::One(Part::GroupList), groups, json::write_string, out);
}

/// A type of `kube-openapi` or `apidiscovery`; where the two versions of `OpenAPI` have each their own, `Swagger…` is the older one's.
#[derive(Clone, Copy)]
enum Part {
    Document,
    Components,
    PathItem,
    Operation,
    Parameter,
    RequestBody,
    Responses,
    Response,
    MediaType,
    SecurityScheme,
    Schema,
    Rule,
    Swagger,
    SwaggerPathItem,
    SwaggerOperation,
    SwaggerParameter,
    SwaggerResponses,
    SwaggerResponse,
    SwaggerSecurityScheme,
    SwaggerSchema,
    Info,
    GroupList,
    Group,
    Version,
    Resource,
    Subresource,
    Kind,
}

/// What stands at a place of a document.
#[derive(Clone, Copy)]
enum Shape {
    One(Part),
    /// A list of parts, or a map whose values they are.
    Each(Part),
    /// A value whose keys are sorted at every level.
    Plain,
}

/// Members of what is checked of a parameter and of a schema.
macro_rules! checks {
    ($($before:literal),*; $($after:literal),*) => {
        &[
            $($before,)* "maximum", "exclusiveMaximum", "minimum", "exclusiveMinimum", "maxLength", "minLength", "pattern",
            "maxItems", "minItems", "uniqueItems", "multipleOf", "enum", $($after,)*
        ]
    };
}

impl Part {
    /// The members in the order of their declaration. Others are extensions.
    #[rustfmt::skip]
    fn order(self) -> &'static [&'static str] {
        match self {
            Part::Document => &["openapi", "info", "paths", "servers", "components", "security", "externalDocs"],
            Part::Components => {
                &["schemas", "securitySchemes", "responses", "parameters", "examples", "requestBodies", "links", "headers"]
            }
            Part::PathItem | Part::SwaggerPathItem => &[
                "$ref", "summary", "description", "get", "put", "post", "delete", "options", "head", "patch", "trace", "servers",
                "parameters",
            ],
            Part::Operation => &[
                "tags", "summary", "description", "externalDocs", "operationId", "parameters", "requestBody", "responses",
                "deprecated", "security", "servers",
            ],
            Part::Parameter => &[
                "$ref", "name", "in", "description", "required", "deprecated", "allowEmptyValue", "style", "explode",
                "allowReserved", "schema", "content", "example", "examples",
            ],
            Part::RequestBody => &["$ref", "description", "content", "required"],
            Part::Responses | Part::SwaggerResponses => &["default"],
            Part::Response => &["$ref", "description", "headers", "content", "links"],
            Part::MediaType => &["schema", "example", "examples", "encoding"],
            Part::SecurityScheme => &[
                "$ref", "type", "description", "name", "in", "scheme", "bearerFormat", "flows", "openIdConnectUrl",
            ],
            Part::Schema | Part::SwaggerSchema => checks![
                "id", "description", "type", "nullable", "format", "title", "default";
                "maxProperties", "minProperties", "required", "items", "allOf", "oneOf", "anyOf", "not", "properties",
                "additionalProperties", "patternProperties", "dependencies", "additionalItems", "definitions", "discriminator",
                "readOnly", "externalDocs", "example", "$schema", "$ref"
            ],
            Part::Rule => &["rule", "message", "messageExpression", "reason", "fieldPath", "optionalOldSelf"],
            Part::Swagger => &[
                "id", "consumes", "produces", "schemes", "swagger", "info", "host", "basePath", "paths", "definitions",
                "parameters", "responses", "securityDefinitions", "security", "tags", "externalDocs",
            ],
            Part::SwaggerOperation => &[
                "description", "consumes", "produces", "schemes", "tags", "summary", "externalDocs", "operationId", "deprecated",
                "security", "parameters", "responses",
            ],
            Part::SwaggerParameter => checks![
                ; "type", "nullable", "format", "items", "collectionFormat", "default", "example", "description", "name", "in",
                "required", "schema", "allowEmptyValue", "$ref"
            ],
            Part::SwaggerResponse => &["$ref", "description", "schema", "headers", "examples"],
            Part::SwaggerSecurityScheme => {
                &["description", "type", "name", "in", "flow", "authorizationUrl", "tokenUrl", "scopes"]
            }
            Part::Info => &["description", "title", "termsOfService", "contact", "license", "version"],
            Part::GroupList => &["kind", "apiVersion", "metadata", "items"],
            Part::Group => &["kind", "apiVersion", "metadata", "versions"],
            Part::Version => &["version", "resources", "freshness"],
            Part::Resource => &[
                "resource", "responseKind", "scope", "singularResource", "verbs", "shortNames", "categories", "subresources",
            ],
            Part::Subresource => &["subresource", "responseKind", "acceptedTypes", "verbs"],
            Part::Kind => &["group", "version", "kind"],
        }
    }

    /// What stands in a member.
    fn member(self, key: &str, value: &Value) -> Shape {
        use Shape::{Each, One, Plain};
        match (self, key) {
            (Part::Document | Part::Swagger, "info") => One(Part::Info),
            (Part::Document, "paths") => Each(Part::PathItem),
            (Part::Document, "components") => One(Part::Components),
            (Part::Components, "schemas") => Each(Part::Schema),
            (Part::Components, "securitySchemes") => Each(Part::SecurityScheme),
            (Part::Components, "responses") => Each(Part::Response),
            (Part::Components | Part::PathItem | Part::Operation, "parameters") => Each(Part::Parameter),
            (Part::Components, "requestBodies") => Each(Part::RequestBody),
            (Part::PathItem, "get" | "put" | "post" | "delete" | "options" | "head" | "patch" | "trace") => {
                One(Part::Operation)
            }
            (Part::Operation, "requestBody") => One(Part::RequestBody),
            (Part::Operation, "responses") => One(Part::Responses),
            (Part::Operation, "x-kubernetes-group-version-kind")
            | (Part::Resource | Part::Subresource, "responseKind") => One(Part::Kind),
            (Part::Responses, _) => One(Part::Response),
            (Part::Parameter | Part::RequestBody | Part::Response, "content") => Each(Part::MediaType),
            (Part::Parameter | Part::MediaType, "schema") => One(Part::Schema),
            (Part::Schema, "x-kubernetes-validations") => Each(Part::Rule),
            (Part::Swagger, "paths") => Each(Part::SwaggerPathItem),
            (Part::Swagger, "definitions") => Each(Part::SwaggerSchema),
            (Part::Swagger | Part::SwaggerPathItem | Part::SwaggerOperation, "parameters") => {
                Each(Part::SwaggerParameter)
            }
            (Part::Swagger, "responses") => Each(Part::SwaggerResponse),
            (Part::Swagger, "securityDefinitions") => Each(Part::SwaggerSecurityScheme),
            (Part::SwaggerPathItem, "get" | "put" | "post" | "delete" | "options" | "head" | "patch") => {
                One(Part::SwaggerOperation)
            }
            (Part::SwaggerOperation, "responses") => One(Part::SwaggerResponses),
            // The aggregator reads the documents of others, which leaves their extensions sorted, and makes its own.
            (Part::SwaggerOperation, "x-kubernetes-group-version-kind")
                if value["group"] == "apiregistration.k8s.io" =>
            {
                One(Part::Kind)
            }
            (Part::SwaggerResponses, _) => One(Part::SwaggerResponse),
            // What it is a list of has the same members, without a name and a place.
            (Part::SwaggerParameter, "items") => One(Part::SwaggerParameter),
            (Part::SwaggerParameter | Part::SwaggerResponse, "schema") => One(Part::SwaggerSchema),
            (
                Part::Schema | Part::SwaggerSchema,
                "items" | "allOf" | "oneOf" | "anyOf" | "not" | "additionalProperties" | "additionalItems",
            ) => One(self),
            (Part::Schema | Part::SwaggerSchema, "properties" | "patternProperties" | "definitions") => Each(self),
            (Part::GroupList, "items") => Each(Part::Group),
            (Part::Group, "versions") => Each(Part::Version),
            (Part::Version, "resources") => Each(Part::Resource),
            (Part::Resource, "subresources") => Each(Part::Subresource),
            (Part::Subresource, "acceptedTypes") => Each(Part::Kind),
            _ => Plain,
        }
    }
}

fn write(shape: Shape, value: &Value, write_string: fn(&str, &mut Vec<u8>), out: &mut Vec<u8>) {
    match value {
        Value::Object(object) => {
            let order = match shape {
                Shape::One(part) => part.order(),
                Shape::Each(_) | Shape::Plain => &[],
            };
            let declared = order.iter().filter_map(|key| object.get_key_value(*key));
            let others = object.iter().filter(|(key, _)| !order.contains(&key.as_str()));
            out.push(b'{');
            for (at, (key, value)) in declared.chain(others).enumerate() {
                if at > 0 {
                    out.push(b',');
                }
                write_string(key, out);
                out.push(b':');
                let below = match shape {
                    Shape::One(part) => part.member(key, value),
                    Shape::Each(part) => Shape::One(part),
                    Shape::Plain => Shape::Plain,
                };
                write(below, value, write_string, out);
            }
            out.push(b'}');
        }
        Value::Array(items) => {
            let item = match shape {
                Shape::One(part) | Shape::Each(part) => Shape::One(part),
                Shape::Plain => Shape::Plain,
            };
            out.push(b'[');
            for (at, value) in items.iter().enumerate() {
                if at > 0 {
                    out.push(b',');
                }
                write(item, value, write_string, out);
            }
            out.push(b']');
        }
        Value::String(text) => write_string(text, out),
        value => json::write(value, out),
    }
}

/// Appends a text without escaping `<`, `>` and `&`, as the newer of Go's encoders does, which writes version 2 alone.
fn write_string_as_is(text: &str, out: &mut Vec<u8>) {
    serde_json::to_writer(out, text).expect("a text can be written to memory");
}
