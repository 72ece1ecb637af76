//! Objects from JSON and YAML, where what a type does not know is refused. `serde_json::from_value` drops it without a word: with
//! `replica` instead of `replicas`, a Deployment has one replica, and no server ever sees the mistake.
//!
//! ```
//! use k8s_openapi::api::apps::v1::Deployment;
//! use kubewright_runtime::strict::{from_json, from_yaml};
//! use serde_json::json;
//!
//! let error = from_json::<Deployment>(json!({ "spec": { "replica": 3 } })).unwrap_err();
//! assert_eq!(error.to_string(), "unknown field .spec.replica");
//!
//! let web: Deployment = from_yaml(
//!     "
//!     metadata: { name: web }
//!     spec:
//!       replicas: 3
//!     ",
//! )?;
//! assert_eq!(web.spec.unwrap().replicas, Some(3));
//! # Ok::<(), kubewright_runtime::strict::StrictError>(())
//! ```

pub(crate) mod located;

use std::fmt::Write as _;

use kubewright_codec::yaml;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use located::{Segment, decode, dropped, misfit};

/// Why a document was refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StrictError {
    /// The text is no YAML or JSON.
    #[error("{0}")]
    Syntax(String),
    /// There are other documents behind the first.
    #[error("there is more than one document: read them one by one")]
    SeveralDocuments,
    /// The document says something twice.
    #[error("{0}")]
    Duplicate(String),
    /// The type does not know these fields; their paths, as in `.spec.replica`.
    #[error("unknown field{} {}", if .0.len() == 1 { "" } else { "s" }, .0.join(", "))]
    Unknown(Vec<String>),
    /// A value is not of the type that its field has, a required field is missing, or the object says that it is of another kind.
    #[error("{0}")]
    Mismatch(String),
}

/// Reads a value, as `json!` writes it. Fields that the type does not know are an error, which names all of them.
///
/// A type that keeps unknown fields (a map, a flattened one) knows all. What a type drops where serde cannot say so, as in enums with a
/// tag, is found by writing the value again, so the type is one that can be written.
#[allow(clippy::needless_pass_by_value)] // `from_json(json!({ … }))` reads better without a borrow.
pub fn from_json<T: DeserializeOwned + Serialize>(value: Value) -> Result<T, StrictError> {
    read(&value)
}

/// Reads a document of YAML, which JSON is too, like [`from_json`]. A field that is set twice and a second document are errors.
///
/// It is YAML as kubectl reads it (`on` is true, `0644` is 420). A text may be indented as a whole, as it is in source code.
pub fn from_yaml<T: DeserializeOwned + Serialize>(text: &str) -> Result<T, StrictError> {
    if documents(text) > 1 {
        return Err(StrictError::SeveralDocuments);
    }
    let decoded = yaml::decode(text.as_bytes()).map_err(|error| StrictError::Syntax(error.to_string()))?;
    if let Some(complaint) = decoded.already_set {
        return Err(StrictError::Duplicate(complaint));
    }
    if !decoded.duplicates.is_empty() {
        let message = format!("set twice: {}", decoded.duplicates.join(", "));
        return Err(StrictError::Duplicate(message));
    }
    read(&decoded.value)
}

fn read<T: DeserializeOwned + Serialize>(value: &Value) -> Result<T, StrictError> {
    let mut unknown = Vec::new();
    let read = decode::<T>(value, &mut unknown).map_err(|error| match misfit::<T>(value) {
        Some(path) if !path.is_empty() => StrictError::Mismatch(format!(".{error}")),
        _ => StrictError::Mismatch(error),
    })?;
    let kept = serde_json::to_value(&read).map_err(|error| StrictError::Mismatch(error.to_string()))?;
    // The types of custom resources know what they are and ignore what an object says of it.
    for name in ["apiVersion", "kind"] {
        let (Some(said), Some(is)) = (value.get(name), kept.get(name)) else {
            continue;
        };
        if said != is {
            return Err(StrictError::Mismatch(format!(".{name}: {said} where {is} is read")));
        }
        unknown.retain(|path| !matches!(&path[..], [Segment::Key(key)] if key == name));
    }
    for path in dropped::<T>(value, &kept) {
        if !unknown.contains(&path) {
            unknown.push(path);
        }
    }
    if unknown.is_empty() {
        return Ok(read);
    }
    Err(StrictError::Unknown(unknown.iter().map(|path| written(path)).collect()))
}

/// A path as kubectl and jq write it.
fn written(path: &[Segment]) -> String {
    let mut text = String::new();
    for segment in path {
        match segment {
            Segment::Key(key) => {
                text.push('.');
                text.push_str(key);
            }
            Segment::Index(index) => {
                let _ = write!(text, "[{index}]");
            }
        }
    }
    text
}

/// How many documents of a text have anything but comments. A line of three dashes that is not indented is a separator wherever it
/// stands.
fn documents(text: &str) -> usize {
    let mut count = 0;
    let mut is_empty = true;
    for line in text.lines() {
        if line == "---" || line.starts_with("--- ") {
            is_empty = true;
        }
        let content = line.strip_prefix("---").unwrap_or(line).trim();
        if is_empty && !content.is_empty() && !content.starts_with(['#', '%']) {
            is_empty = false;
            count += 1;
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::apps::v1::Deployment;
    use k8s_openapi::api::core::v1::ConfigMap;
    use serde_json::json;

    use super::*;

    #[test]
    fn every_unknown_field_is_named_with_its_path() {
        let error = from_json::<Deployment>(json!({
            "metadata": { "name": "web", "label": {} },
            "spec": {
                "replica": 3,
                "selector": { "matchLabels": { "app": "web" } },
                "template": { "spec": { "containers": [{ "name": "a" }, { "name": "web", "imagee": "nginx" }] } },
            },
        }))
        .unwrap_err();
        let StrictError::Unknown(mut fields) = error else {
            panic!("{error}")
        };
        fields.sort();
        assert_eq!(
            fields,
            [
                ".metadata.label",
                ".spec.replica",
                ".spec.template.spec.containers[1].imagee"
            ]
        );
    }

    #[test]
    fn a_value_of_another_type_is_named_with_its_path() {
        let error = from_json::<Deployment>(json!({ "spec": { "replicas": "three" } })).unwrap_err();
        assert_eq!(
            error.to_string(),
            ".spec.replicas: invalid type: string \"three\", expected i32"
        );
        let error = from_json::<ConfigMap>(json!({ "apiVersion": "v1", "kind": "Secret" })).unwrap_err();
        assert!(matches!(error, StrictError::Mismatch(_)), "{error}");
    }

    #[derive(kube::CustomResource, schemars::JsonSchema, serde::Serialize, serde::Deserialize, Clone, Debug)]
    #[kube(group = "example.com", version = "v1", kind = "Tree")]
    struct TreeSpec {
        height: u32,
    }

    #[test]
    fn a_custom_resource_says_what_it_is() {
        let tree: Tree =
            from_yaml("{apiVersion: example.com/v1, kind: Tree, metadata: {name: oak}, spec: {height: 3}}").unwrap();
        assert_eq!(tree.spec.height, 3);
        let error =
            from_yaml::<Tree>("{apiVersion: example.com/v1, kind: Tree, metadata: {}, spec: {height: 3, width: 1}}");
        assert_eq!(error.unwrap_err().to_string(), "unknown field .spec.width");
        let error = from_yaml::<TreeSpec>("{height: 3, kind: oak}").unwrap_err();
        assert_eq!(error.to_string(), "unknown field .kind");
    }

    #[test]
    fn an_object_of_another_kind_is_refused() {
        let error = |text: &str| from_yaml::<Tree>(text).unwrap_err().to_string();
        let spec = "metadata: {name: oak}, spec: {height: 3}";
        assert_eq!(
            error(&format!("{{apiVersion: example.com/v1, kind: Shrub, {spec}}}")),
            r#".kind: "Shrub" where "Tree" is read"#
        );
        assert_eq!(
            error(&format!("{{apiVersion: example.com/v2, kind: Tree, {spec}}}")),
            r#".apiVersion: "example.com/v2" where "example.com/v1" is read"#
        );
        // Neither is asked for.
        from_yaml::<Tree>(&format!("{{{spec}}}")).unwrap();
        // A part of an object is of no kind.
        let error = from_yaml::<TreeSpec>("{apiVersion: example.com/v1, kind: Tree, height: 3}").unwrap_err();
        assert_eq!(error.to_string(), "unknown fields .apiVersion, .kind");
    }

    #[derive(serde::Serialize, serde::Deserialize, Debug, PartialEq)]
    #[serde(tag = "type", rename_all = "camelCase")]
    enum Source {
        Git {
            url: String,
        },
        Inline {
            files: std::collections::BTreeMap<String, String>,
        },
    }

    #[derive(serde::Serialize, serde::Deserialize, Debug, PartialEq)]
    #[serde(untagged)]
    enum Port {
        Number(u16),
        Named { name: String },
    }

    #[derive(serde::Serialize, serde::Deserialize, Debug, PartialEq)]
    struct Garden {
        sources: Vec<Source>,
        port: Port,
        #[serde(flatten)]
        paint: Paint,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        closed: bool,
        #[serde(skip_serializing_if = "Option::is_none")]
        anything: Option<Value>,
        #[serde(alias = "label")]
        labels: std::collections::BTreeMap<String, String>,
    }

    #[derive(serde::Serialize, serde::Deserialize, Debug, PartialEq)]
    struct Paint {
        colour: Option<String>,
    }

    #[test]
    fn what_enums_with_a_tag_and_flattened_types_drop_is_refused() {
        let error = from_json::<Garden>(json!({
            "sources": [{ "type": "git", "url": "here", "branch": "main" }, { "type": "inline", "files": { "a": "b" } }],
            "port": { "name": "http", "number": 80 },
            "colour": "red",
            "color": "blue",
            "labels": {},
        }))
        .unwrap_err();
        let StrictError::Unknown(mut fields) = error else {
            panic!("{error}")
        };
        fields.sort();
        assert_eq!(fields, [".color", ".port.number", ".sources[0].branch"]);
    }

    #[test]
    fn what_is_not_written_again_because_it_is_a_default_or_has_another_name_is_known() {
        let garden = |value: Value| from_json::<Garden>(value).map(|_| ());
        garden(json!({ "sources": [], "port": 80, "closed": false, "anything": null, "label": {}, "colour": null }))
            .unwrap();
        garden(json!({ "sources": [], "port": 80, "anything": { "at": ["all"] }, "labels": { "a": "b" } })).unwrap();
        from_yaml::<Deployment>("{metadata: {name: web, creationTimestamp: null}, spec: {replicas: null}, status: {}}")
            .unwrap();
    }

    #[test]
    fn yaml_is_read_once_and_whole() {
        let settings: ConfigMap = from_yaml("---\n# settings\ndata: {a: \"1\"}\n---\n# nothing\n").unwrap();
        assert_eq!(settings.data.unwrap()["a"], "1");
        let error = from_yaml::<ConfigMap>("data: {}\n--- # another\ndata: {}\n").unwrap_err();
        assert!(matches!(error, StrictError::SeveralDocuments), "{error}");
        let error = from_yaml::<ConfigMap>("data: {}\ndata: {}\n").unwrap_err();
        assert!(matches!(error, StrictError::Duplicate(_)), "{error}");
        let error = from_yaml::<ConfigMap>("{\"data\": {\"a\": \"1\", \"a\": \"2\"}}").unwrap_err();
        assert!(matches!(error, StrictError::Duplicate(_)), "{error}");
        let error = from_yaml::<ConfigMap>("data: [").unwrap_err();
        assert!(matches!(error, StrictError::Syntax(_)), "{error}");
        let error = from_yaml::<ConfigMap>("dada: {}").unwrap_err();
        assert_eq!(error.to_string(), "unknown field .dada");
    }
}
