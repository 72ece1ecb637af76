//! Objects as the documents of one YAML stream, always the same for the same objects.

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
