//! Notes about definitions that are valid, but that users may want to change.

use serde_json::Value;

use super::name_of;

/// The limit of all annotations of an object, one of which `kubectl apply` without `--server-side` fills with the whole object.
const MOST_ANNOTATED: usize = 256 * 1024;

/// Something to know of a definition.
///
/// ```
/// use kubewright_manifests::definitions::Note;
///
/// let note = Note { definition: "trees.example.com".into(), message: "it is large".into() };
/// assert_eq!(note.to_string(), "trees.example.com: it is large");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// The name of the definition.
    pub definition: String,
    /// What is to be known, and what to do about it.
    pub message: String,
}

impl std::fmt::Display for Note {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.definition, self.message)
    }
}

/// What is to be known of definitions.
///
/// ```
/// use kubewright_manifests::definitions::notes;
/// use serde_json::json;
///
/// let small = json!({ "metadata": { "name": "trees.example.com" } });
/// assert!(notes(&[small]).is_empty());
/// ```
pub fn notes(definitions: &[Value]) -> Vec<Note> {
    let mut notes = Vec::new();
    for definition in definitions {
        let size = definition.to_string().len();
        if size > MOST_ANNOTATED {
            notes.push(Note {
                definition: name_of(definition).to_owned(),
                message: format!(
                    "it takes {} KiB, and `kubectl apply` without `--server-side` refuses more than 256; shorten its \
                     descriptions, as with `maxDescriptionLength: 200` under `plugins.kubewright.dev/v1` in PROJECT",
                    size / 1024
                ),
            });
        }
    }
    notes
}
