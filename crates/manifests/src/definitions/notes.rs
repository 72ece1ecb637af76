//! Notes about definitions that are valid, but that users may want to change.

use serde_json::Value;

use super::name_of;

/// The limit of all annotations of an object, one of which `kubectl apply` without `--server-side` fills with the whole object.
const MOST_ANNOTATED: usize = 256 * 1024;

/// Something to know of a definition.
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
