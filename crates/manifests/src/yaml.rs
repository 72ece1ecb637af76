//! Objects as the documents of one YAML stream, always the same for the same objects, and back.

use kubewright_codec::yaml::YamlError;
use serde_json::Value;

/// The documents of a stream, each behind its `---`.
///
/// ```
/// use kubewright_manifests::yaml::documents;
/// use serde_json::json;
///
/// assert_eq!(documents(&[json!({ "kind": "A" }), json!({ "kind": "B" })]), "---\nkind: A\n---\nkind: B\n");
/// ```
pub fn documents(objects: &[Value]) -> String {
    let mut text = String::new();
    for object in objects {
        text.push_str("---\n");
        text.push_str(&kubewright_codec::yaml::encode(object));
    }
    text
}

/// The documents of a stream, without those that are empty.
pub fn read(text: &str) -> Result<Vec<Value>, YamlError> {
    let mut objects = Vec::new();
    for document in split(text) {
        match kubewright_codec::yaml::decode(document.as_bytes())?.value {
            Value::Null => {}
            value => objects.push(value),
        }
    }
    Ok(objects)
}

/// The texts between the markers. A marker stands at the beginning of its line, where no other content of YAML may.
fn split(text: &str) -> Vec<String> {
    let mut documents = vec![String::new()];
    for line in text.lines() {
        let behind = line
            .strip_prefix("---")
            .filter(|rest| rest.is_empty() || rest.starts_with([' ', '\t']));
        match (behind, documents.last_mut()) {
            (Some(rest), _) => documents.push(format!("{rest}\n")),
            (None, Some(document)) => {
                document.push_str(line);
                document.push('\n');
            }
            (None, None) => {}
        }
    }
    documents.retain(|document| {
        let is_content = |line: &str| !line.trim().is_empty() && !line.trim_start().starts_with('#');
        document.lines().any(is_content)
    });
    documents
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn markers_within_texts_are_no_markers() {
        let text = "a: |\n  ---\n  b\n--- # the second\nc: --- d\n";
        assert_eq!(
            read(text).unwrap(),
            [json!({ "a": "---\nb\n" }), json!({ "c": "--- d" })]
        );
    }

    #[test]
    fn nothing_is_no_document() {
        for text in ["", "---\n", "# only words\n---\n\n", "--- # still nothing\n"] {
            assert_eq!(read(text).unwrap(), Vec::<Value>::new(), "{text:?}");
        }
    }
}
