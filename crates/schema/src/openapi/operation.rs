//! An operation as both kinds of documents describe it, before one of them writes it down.

use super::parameter::Parameter;

/// A path and what can be done there.
pub(super) struct PathItem {
    pub path: String,
    pub operations: Vec<Operation>,
}

/// A method on a path.
pub(super) struct Operation {
    pub method: &'static str,
    pub id: String,
    pub description: String,
    pub tag: String,
    /// What it does to which kind; documents about the server itself have none.
    pub subject: Option<(&'static str, GroupVersionKind)>,
    pub parameters: Vec<Parameter>,
    pub body: Option<Body>,
    /// The codes of its answers beside 401.
    pub codes: &'static [&'static str],
    pub answer: Shape,
    pub consumes: &'static [&'static str],
    pub produces: &'static [&'static str],
}

/// The group, version and kind an operation is about.
#[derive(Clone, Debug)]
pub(super) struct GroupVersionKind {
    pub group: String,
    pub version: String,
    pub name: String,
}

/// What a request carries.
pub(super) struct Body {
    pub shape: Shape,
    pub required: bool,
}

impl Body {
    pub(super) fn required(shape: Shape) -> Self {
        Body { shape, required: true }
    }

    pub(super) fn delete_options() -> Self {
        Body {
            shape: Shape::meta("DeleteOptions"),
            required: false,
        }
    }
}

/// What a request or an answer looks like.
#[derive(Clone, Debug)]
pub(super) enum Shape {
    Text,
    /// The schema of that name.
    Named(String),
}

impl Shape {
    pub(super) fn meta(kind: &str) -> Self {
        Shape::Named(format!("{}.{kind}", super::META))
    }
}

/// The media types of objects.
pub(super) const PLAIN: &[&str] = &[
    "application/json",
    "application/yaml",
    "application/vnd.kubernetes.protobuf",
];
/// The media types of lists and watches.
pub(super) const STREAMED: &[&str] = &[
    "application/json",
    "application/yaml",
    "application/vnd.kubernetes.protobuf",
    "application/json;stream=watch",
    "application/vnd.kubernetes.protobuf;stream=watch",
];
/// The media types of a log.
pub(super) const LOG: &[&str] = &[
    "text/plain",
    "application/json",
    "application/yaml",
    "application/vnd.kubernetes.protobuf",
];
/// The media types of custom resources, as far as documents name them.
pub(super) const CUSTOM: &[&str] = &["application/json", "application/yaml"];
pub(super) const PATCHES: &[&str] = &[
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
];
/// Custom resources have no Go types to merge strategically.
pub(super) const CUSTOM_PATCHES: &[&str] = &[
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/apply-patch+yaml",
];
pub(super) const ANYTHING: &[&str] = &["*/*"];

/// The description of a status code.
pub(super) fn reason(code: &str) -> &'static str {
    match code {
        "201" => "Created",
        "202" => "Accepted",
        _ => "OK",
    }
}

/// `rbac.authorization.k8s.io` is `rbacAuthorization`, the core is `core`.
pub(super) fn group_tag(group: &str) -> String {
    if group.is_empty() {
        return "core".to_owned();
    }
    identifier(group.strip_suffix(".k8s.io").unwrap_or(group), false)
}

/// A name of letters, digits and underscores; what follows something else begins with a capital.
pub(super) fn identifier(name: &str, capital: bool) -> String {
    let mut capital = capital;
    let mut id = String::with_capacity(name.len());
    for (at, letter) in name.char_indices() {
        if letter.is_alphabetic() || letter == '_' || (at != 0 && letter.is_numeric()) {
            if capital {
                id.extend(letter.to_uppercase());
            } else {
                id.push(letter);
            }
            capital = false;
        } else {
            capital = true;
        }
    }
    id
}

pub(super) fn capitalized(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_ascii_uppercase().to_string() + letters.as_str()
    })
}

/// ` a Pod`, ` an Ingress`, ` Endpoints`: plurals have no article.
pub(super) fn with_article(kind: &str) -> String {
    let article = if kind.ends_with('s') && !kind.ends_with("ss") {
        ""
    } else if kind.starts_with(['a', 'e', 'i', 'o', 'u', 'A', 'E', 'I', 'O', 'U']) {
        "an "
    } else {
        "a "
    };
    format!(" {article}{kind}")
}
