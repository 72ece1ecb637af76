//! Paths and operations as the two kinds of documents write them.

use serde_json::{Map, Value, json};

use super::{
    TypeDocs,
    operation::{Body, Operation, PathItem, Shape, reason},
    parameter::{Parameter, ParameterLocation},
    shared::Shared,
};

/// Which kind of document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// One document for everything, at `/openapi/v2`.
    V2,
    /// One document for a group-version, below `/openapi/v3/`.
    V3,
}

impl Dialect {
    /// What precedes the name of a schema in a reference to it.
    pub(super) fn prefix(self) -> &'static str {
        match self {
            Dialect::V2 => "#/definitions/",
            Dialect::V3 => "#/components/schemas/",
        }
    }

    /// The reference to the schema of that name.
    pub fn reference(self, name: &str) -> Value {
        json!({"$ref": format!("{}{name}", self.prefix())})
    }

    /// A reference with more to say; version 3 admits nothing beside a reference.
    pub fn described_reference(self, name: &str, mut beside: Map<String, Value>) -> Value {
        let reference = self.reference(name);
        match (self, reference) {
            (_, reference) if beside.is_empty() => reference,
            (Dialect::V3, reference) => {
                beside.insert("allOf".to_owned(), json!([reference]));
                Value::Object(beside)
            }
            (Dialect::V2, Value::Object(reference)) => {
                beside.extend(reference);
                Value::Object(beside)
            }
            (Dialect::V2, reference) => reference,
        }
    }

    fn shape(self, shape: &Shape) -> Value {
        match shape {
            Shape::Text => json!({"type": "string"}),
            Shape::Named(name) => self.reference(name),
        }
    }
}

/// Writes the paths of a document.
pub(super) struct Writer<'p> {
    dialect: Dialect,
    docs: &'p dyn TypeDocs,
    /// The parameters that version 2 says once for all.
    pub shared: Shared,
}

impl<'p> Writer<'p> {
    pub(super) fn new(dialect: Dialect, docs: &'p dyn TypeDocs) -> Self {
        Writer {
            dialect,
            docs,
            shared: Shared::default(),
        }
    }

    pub(super) fn paths(&mut self, items: impl IntoIterator<Item = PathItem>) -> Map<String, Value> {
        items.into_iter().filter_map(|item| self.path(item)).collect()
    }

    /// A path. Parameters that all its operations have are written once.
    fn path(&mut self, item: PathItem) -> Option<(String, Value)> {
        let first = item.operations.first()?;
        let has = |operation: &Operation, parameter: &Parameter| {
            operation.parameters.iter().any(|other| other.key() == parameter.key())
        };
        let is_common = |parameter: &&Parameter| item.operations.iter().all(|operation| has(operation, parameter));
        let mut common: Vec<&Parameter> = first.parameters.iter().filter(is_common).collect();
        common.sort_by_key(|parameter| parameter.key());
        let mut written = Map::new();
        for operation in &item.operations {
            let is_own = |own: &&Parameter| !common.iter().any(|other| other.key() == own.key());
            let own: Vec<&Parameter> = operation.parameters.iter().filter(is_own).collect();
            written.insert(operation.method.to_owned(), self.operation(operation, own));
        }
        if !common.is_empty() {
            let common = common.into_iter().map(|parameter| self.parameter(parameter)).collect();
            written.insert("parameters".to_owned(), common);
        }
        Some((item.path, Value::Object(written)))
    }

    fn operation(&mut self, operation: &Operation, mut own: Vec<&Parameter>) -> Value {
        let mut written = json!({
            "operationId": operation.id,
            "description": operation.description,
            "tags": [operation.tag],
            "responses": self.responses(operation),
        });
        if let Some((action, kind)) = &operation.subject {
            written["x-kubernetes-action"] = json!(action);
            written["x-kubernetes-group-version-kind"] =
                json!({"group": kind.group, "version": kind.version, "kind": kind.name});
        }
        own.sort_by_key(|parameter| parameter.key());
        let mut parameters: Vec<Value> = Vec::with_capacity(own.len() + 1);
        match self.dialect {
            Dialect::V2 => {
                written["schemes"] = json!(["https"]);
                written["produces"] = json!(operation.produces);
                if !operation.consumes.is_empty() {
                    written["consumes"] = json!(operation.consumes);
                }
                let (before, behind) = own.split_at(own.partition_point(|parameter| parameter.name < "body"));
                parameters.extend(before.iter().map(|parameter| self.parameter(parameter)));
                parameters.extend(operation.body.as_ref().map(|body| self.body(body)));
                parameters.extend(behind.iter().map(|parameter| self.parameter(parameter)));
            }
            Dialect::V3 => {
                parameters.extend(own.into_iter().map(|parameter| self.parameter(parameter)));
                if let Some(Body { shape, required }) = &operation.body {
                    let mut body = json!({"content": self.content(shape, operation.consumes)});
                    if *required {
                        body["required"] = json!(true);
                    }
                    written["requestBody"] = body;
                }
            }
        }
        if !parameters.is_empty() {
            written["parameters"] = Value::Array(parameters);
        }
        written
    }

    /// The answers of an operation; 401 is always among them.
    fn responses(&self, operation: &Operation) -> Value {
        let mut responses = Map::from_iter([("401".to_owned(), json!({"description": "Unauthorized"}))]);
        for code in operation.codes {
            let mut response = json!({"description": reason(code)});
            match self.dialect {
                Dialect::V2 => response["schema"] = self.dialect.shape(&operation.answer),
                Dialect::V3 => response["content"] = self.content(&operation.answer, operation.produces),
            }
            responses.insert((*code).to_owned(), response);
        }
        Value::Object(responses)
    }

    fn content(&self, shape: &Shape, media: &[&str]) -> Value {
        let schema = self.dialect.shape(shape);
        let content = media
            .iter()
            .map(|media| ((*media).to_owned(), json!({"schema": schema})));
        Value::Object(content.collect())
    }

    fn parameter(&mut self, parameter: &Parameter) -> Value {
        let description = parameter.description(self.docs);
        match self.dialect {
            Dialect::V2 => self.shared.parameter(parameter, description),
            Dialect::V3 => {
                let mut written = json!({
                    "name": parameter.name,
                    "in": parameter.place.word(),
                    "schema": {"type": parameter.kind, "uniqueItems": true},
                });
                if parameter.place == ParameterLocation::Path {
                    written["required"] = json!(true);
                }
                if let Some(description) = description {
                    written["description"] = json!(description);
                }
                written
            }
        }
    }

    /// Version 2 has the body among the parameters.
    fn body(&mut self, body: &Body) -> Value {
        let schema = self.dialect.shape(&body.shape);
        self.shared.body(schema, body.required)
    }
}
