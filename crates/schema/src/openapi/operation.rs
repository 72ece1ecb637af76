//! The parts that operations are made of: parameters, answers and names.

use serde_json::{Map, Value, json};

/// A parameter of an operation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Parameter {
    pub name: &'static str,
    /// `path` or `query`.
    pub place: &'static str,
    pub kind: &'static str,
}

const fn query(name: &'static str, kind: &'static str) -> Parameter {
    Parameter {
        name,
        place: "query",
        kind,
    }
}

pub(super) const fn path(name: &'static str) -> Parameter {
    Parameter {
        name,
        place: "path",
        kind: "string",
    }
}

pub(super) const PRETTY: Parameter = query("pretty", "string");
pub(super) const LIST: &[Parameter] = &[
    query("allowWatchBookmarks", "boolean"),
    query("continue", "string"),
    query("fieldSelector", "string"),
    query("labelSelector", "string"),
    query("limit", "integer"),
    PRETTY,
    query("resourceVersion", "string"),
    query("resourceVersionMatch", "string"),
    query("sendInitialEvents", "boolean"),
    query("shardSelector", "string"),
    query("timeoutSeconds", "integer"),
    query("watch", "boolean"),
];
pub(super) const WRITE: &[Parameter] = &[
    query("dryRun", "string"),
    query("fieldManager", "string"),
    query("fieldValidation", "string"),
    PRETTY,
];
pub(super) const PATCH: &[Parameter] = &[
    query("dryRun", "string"),
    query("fieldManager", "string"),
    query("fieldValidation", "string"),
    query("force", "boolean"),
    PRETTY,
];
pub(super) const DELETE: &[Parameter] = &[
    query("dryRun", "string"),
    query("gracePeriodSeconds", "integer"),
    query("ignoreStoreReadErrorWithClusterBreakingPotential", "boolean"),
    query("orphanDependents", "boolean"),
    PRETTY,
    query("propagationPolicy", "string"),
];
pub(super) const DELETE_COLLECTION: &[Parameter] = &[
    query("continue", "string"),
    query("dryRun", "string"),
    query("fieldSelector", "string"),
    query("gracePeriodSeconds", "integer"),
    query("ignoreStoreReadErrorWithClusterBreakingPotential", "boolean"),
    query("labelSelector", "string"),
    query("limit", "integer"),
    query("orphanDependents", "boolean"),
    PRETTY,
    query("propagationPolicy", "string"),
    query("resourceVersion", "string"),
    query("resourceVersionMatch", "string"),
    query("sendInitialEvents", "boolean"),
    query("shardSelector", "string"),
    query("timeoutSeconds", "integer"),
];

impl Parameter {
    /// A parameter for a field of an options type.
    pub(super) fn for_option(name: &'static str, kind: &'static str) -> Self {
        query(name, kind)
    }

    pub(super) fn render(self) -> Value {
        let mut parameter = json!({
            "name": self.name, "in": self.place, "schema": {"type": self.kind, "uniqueItems": true}
        });
        if self.place == "path" {
            parameter["required"] = json!(true);
        }
        parameter
    }
}

/// What objects are written in.
pub(super) const PLAIN: &[&str] = &[
    "application/json",
    "application/vnd.kubernetes.protobuf",
    "application/yaml",
];
/// What lists and watches are written in.
pub(super) const STREAMED: &[&str] = &[
    "application/json",
    "application/json;stream=watch",
    "application/vnd.kubernetes.protobuf",
    "application/vnd.kubernetes.protobuf;stream=watch",
    "application/yaml",
];
/// What a log is written in.
pub(super) const LOG: &[&str] = &[
    "application/json",
    "application/vnd.kubernetes.protobuf",
    "application/yaml",
    "text/plain",
];
pub(super) const PATCHES: &[&str] = &[
    "application/apply-patch+yaml",
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
];
pub(super) const ANYTHING: &[&str] = &["*/*"];

pub(super) fn reference(name: &str) -> Value {
    json!({"$ref": format!("#/components/schemas/{name}")})
}

pub(super) fn content(schema: &Value, media: &[&str]) -> Value {
    media
        .iter()
        .map(|media| ((*media).to_owned(), json!({"schema": schema})))
        .collect::<Map<_, _>>()
        .into()
}

/// The answers of an operation; 401 is always among them.
pub(super) fn responses(codes: &[&str], schema: &Value, media: &[&str]) -> Value {
    let mut responses = Map::from_iter([("401".to_owned(), json!({"description": "Unauthorized"}))]);
    for code in codes {
        let description = match *code {
            "201" => "Created",
            "202" => "Accepted",
            _ => "OK",
        };
        responses.insert(
            (*code).to_owned(),
            json!({"description": description, "content": content(schema, media)}),
        );
    }
    Value::Object(responses)
}

/// `rbac.authorization.k8s.io` is `rbacAuthorization`, the core is `core`.
pub(super) fn group_tag(group: &str) -> String {
    if group.is_empty() {
        return "core".to_owned();
    }
    let mut parts = group.strip_suffix(".k8s.io").unwrap_or(group).split('.');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |tag, part| tag + &capitalized(part))
}

pub(super) fn capitalized(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_ascii_uppercase().to_string() + letters.as_str()
    })
}
