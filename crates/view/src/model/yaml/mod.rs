//! An object as YAML of which each line knows its field and who manages it; what differs between two; where a field is in what somebody typed.

mod difference;
mod fields;
mod place;

use kubewright_codec::yaml::{encode, sorted};
use serde::Serialize;
use serde_json::{Map, Value};

pub(crate) use difference::compare;
pub(crate) use fields::Manager;
use fields::Owners;
pub(crate) use place::line_of;

/// An object as lines.
#[derive(Debug, Serialize)]
pub(crate) struct Managed {
    pub(crate) managers: Vec<Manager>,
    pub(crate) lines: Vec<Line>,
}

/// A line of YAML.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Line {
    pub(crate) text: String,
    /// The field that begins on it or goes on: `spec.containers[0].image`.
    #[serde(rename = "field")]
    pub(crate) path: String,
    /// Who manages it, as places in the list of managers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) managers: Vec<usize>,
}

/// An object without its managedFields, line by line.
pub(crate) fn managed(object: &Value) -> Managed {
    let (managers, owners) = fields::owners(object);
    let mut writer = Writer {
        lines: Vec::new(),
        owners: &owners,
    };
    if let Value::Object(members) = &without_managers(object) {
        writer.members(members, "", "");
    }
    Managed {
        managers,
        lines: writer.lines,
    }
}

/// The same as one text.
pub(crate) fn text(lines: &[Line]) -> String {
    lines.iter().flat_map(|line| [&*line.text, "\n"]).collect()
}

fn without_managers(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
    }
    object
}

/// An object as it is compared with another version of itself: without what every write changes.
pub(crate) fn comparable(object: &Value) -> String {
    let mut object = object.clone();
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("resourceVersion");
        metadata.remove("generation");
    }
    text(&managed(&object).lines)
}

/// The path of a member.
fn member(path: &str, name: &str) -> String {
    if name.contains(['.', '/', '[']) {
        format!("{path}[{name}]")
    } else if path.is_empty() {
        name.to_owned()
    } else {
        format!("{path}.{name}")
    }
}

struct Writer<'a> {
    lines: Vec<Line>,
    owners: &'a Owners,
}

impl Writer<'_> {
    /// Writes members, the first line behind `first`, all others behind as many spaces.
    fn members(&mut self, members: &Map<String, Value>, path: &str, first: &str) {
        let rest = " ".repeat(first.len());
        let named = members.iter().map(|(name, value)| (name.as_str(), value)).collect();
        for (at, (name, value)) in sorted(named).into_iter().enumerate() {
            let before = if at == 0 { first } else { &rest };
            let path = member(path, name);
            match value {
                Value::Object(inner) if !inner.is_empty() => {
                    self.head(name, &path, before);
                    self.members(inner, &path, &format!("{rest}  "));
                }
                Value::Array(items) if !items.is_empty() => {
                    self.head(name, &path, before);
                    self.items(items, &path, &rest);
                }
                scalar => self.scalar(&encoded(name, scalar), &path, before),
            }
        }
    }

    fn items(&mut self, items: &[Value], path: &str, indent: &str) {
        let first = format!("{indent}- ");
        for (at, item) in items.iter().enumerate() {
            let path = format!("{path}[{at}]");
            match item {
                Value::Object(members) if !members.is_empty() => self.members(members, &path, &first),
                // A list in a list begins on a line of its own.
                Value::Array(inner) if !inner.is_empty() => {
                    self.line(format!("{indent}-"), &path);
                    self.items(inner, &path, &format!("{indent}  "));
                }
                scalar => self.scalar(&encode(scalar), &path, &first),
            }
        }
    }

    fn head(&mut self, name: &str, path: &str, before: &str) {
        let text = encoded(name, &Value::Object(Map::new()));
        let name = text.trim_end().trim_end_matches(" {}");
        self.line(format!("{before}{name}"), path);
    }

    /// Writes what may take several lines.
    fn scalar(&mut self, text: &str, path: &str, before: &str) {
        let rest = " ".repeat(before.len());
        for (at, line) in text.strip_suffix('\n').unwrap_or(text).split('\n').enumerate() {
            let before = if at == 0 { before } else { &rest };
            let text = if line.is_empty() {
                String::new()
            } else {
                format!("{before}{line}")
            };
            self.line(text, path);
        }
    }

    fn line(&mut self, text: String, path: &str) {
        self.lines.push(Line {
            text,
            path: path.to_owned(),
            managers: self.owners.of(path),
        });
    }
}

fn encoded(name: &str, value: &Value) -> String {
    let mut one = Map::new();
    one.insert(name.to_owned(), value.clone());
    encode(&Value::Object(one))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn decoded(text: &str) -> Value {
        kubewright_codec::yaml::decode(text.as_bytes()).unwrap().value
    }

    #[test]
    fn the_lines_are_the_object_again() {
        let object = json!({
            "apiVersion": "v1", "kind": "Odd",
            "metadata": { "name": "a", "labels": { "a.b/c": "1", "empty": "" }, "finalizers": [] },
            "spec": {
                "text": "one\n two\n\nthree\n", "trailing": "x\n\n", "long": "word ".repeat(60),
                "nothing": null, "no": false, "number": 1.5, "quoted": "yes", "colon": "a: b", "dash": "- x",
                "lists": [[1, [2, 3]], [], {}, { "a": [{ "b": 1, "c": "m\nn" }] }], "key: odd": { "x": 1 },
                "html": "</pre><script>alert(1)</script>",
            },
        });
        let lines = managed(&object).lines;
        assert_eq!(decoded(&text(&lines)), object, "{}", text(&lines));
        let of = |path: &str| lines.iter().find(|line| line.path == path).map(|line| &*line.text);
        assert_eq!(of("metadata.labels[a.b/c]"), Some("    a.b/c: \"1\""));
        assert_eq!(of("spec.lists[3].a[0].b"), Some("    - b: 1"));
    }

    #[test]
    fn managers_are_told_apart_and_their_lists_are_not_shown() {
        let object = json!({
            "metadata": { "name": "a", "managedFields": [
                { "manager": "kubectl", "operation": "Apply", "time": "2026-01-01T00:00:00Z", "fieldsV1": {
                    "f:spec": { "f:replicas": {}, "f:containers": { "k:{\"name\":\"b\"}": { ".": {}, "f:name": {}, "f:image": {} } } } } },
                { "manager": "web", "operation": "Update", "subresource": "status", "fieldsV1": {
                    "f:status": { "f:ready": {}, "f:atomic": {} }, "f:metadata": { "f:finalizers": { "v:\"x\"": {} } } } },
                { "manager": "hpa", "operation": "Update", "fieldsV1": { "f:spec": { "f:replicas": {} } } },
            ], "finalizers": ["x", "y"] },
            "spec": { "replicas": 2, "containers": [{ "name": "a", "image": "1" }, { "name": "b", "image": "2" }] },
            "status": { "ready": true, "atomic": { "deep": [1] } },
        });
        let managed = managed(&object);
        let of = |path: &str| {
            let line = managed.lines.iter().find(|line| line.path == path).unwrap();
            let names = line.managers.iter().map(|at| &*managed.managers[*at].name);
            names.collect::<Vec<_>>().join(" ")
        };
        assert_eq!(of("spec.replicas"), "kubectl hpa");
        assert_eq!(
            (&*of("spec.containers[0].image"), &*of("spec.containers[1].image")),
            ("", "kubectl")
        );
        assert_eq!((&*of("status.ready"), &*of("status.atomic.deep[0]")), ("web", "web"));
        assert_eq!(
            (&*of("metadata.finalizers[0]"), &*of("metadata.finalizers[1]")),
            ("web", "")
        );
        assert!(!text(&managed.lines).contains("managedFields"));
    }
}
