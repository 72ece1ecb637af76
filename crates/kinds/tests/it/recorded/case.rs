//! A recorded case: what was sent, what it was to replace, and the answer.

use std::fmt;
use std::path::Path;

use serde_json::{Map, Value};

/// The identity and the time that stand in every recording for those the server made up.
pub(crate) const UID: &str = "00000000-0000-4000-8000-000000000001";
pub(crate) const NOW: &str = "2026-01-02T03:04:05Z";

pub(crate) struct Case {
    pub(crate) sentence: String,
    pub(crate) sent: Value,
    pub(crate) stored: Option<Value>,
    pub(crate) subresource: Option<String>,
    pub(crate) answer: Answer,
}

/// What a write comes to.
#[derive(PartialEq)]
pub(crate) enum Answer {
    Refused(Vec<String>),
    Written { object: Value, warnings: Vec<String> },
}

impl Case {
    /// The cases of all files.
    pub(crate) fn all() -> Vec<Case> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("recorded");
        let files = folder.read_dir().expect("the folder of recordings");
        let mut files: Vec<_> = files.map(|entry| entry.expect("a readable folder").path()).collect();
        files.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
        files.sort();
        files.iter().flat_map(|path| Case::of_file(path)).collect()
    }

    fn of_file(path: &Path) -> Vec<Case> {
        let text = std::fs::read_to_string(path).expect("a readable recording");
        let cases: Vec<Value> = serde_json::from_str(&text).expect("a recording is a JSON list");
        let file = path.file_stem().unwrap_or_default().to_string_lossy();
        cases.iter().map(|case| Case::read(&file, case)).collect()
    }

    fn read(file: &str, case: &Value) -> Case {
        let sentence = case["case"].as_str().expect("a case has a sentence");
        let mut stored = case.get("stored").cloned();
        if let Some(stored) = &mut stored {
            identify(stored);
        }
        let sent = if stored.is_some() { "update" } else { "create" };
        Case {
            sentence: format!("{file}: {sentence}"),
            sent: case[sent].clone(),
            stored,
            subresource: case["subresource"].as_str().map(str::to_owned),
            answer: Answer::read(case),
        }
    }
}

impl Answer {
    fn read(case: &Value) -> Answer {
        match (case.get("failure"), case.get("object")) {
            (Some(failure), _) => Answer::Refused(texts(Some(&Value::from(vec![failure.clone()])))),
            (None, None) => Answer::Refused(texts(case.get("errors"))),
            (None, Some(object)) => Answer::written(object, texts(case.get("warnings"))),
        }
    }

    /// Keeps what a kind decides of an object: of its metadata, that is labels and annotations.
    pub(crate) fn written(object: &Value, warnings: Vec<String>) -> Answer {
        let mut object = object.as_object().cloned().unwrap_or_default();
        let metadata = object.remove("metadata").unwrap_or_default();
        let decided: Map<String, Value> = ["labels", "annotations"]
            .into_iter()
            .filter_map(|field| Some((field.to_owned(), metadata.get(field)?.clone())))
            .collect();
        object.insert("metadata".to_owned(), Value::Object(decided));
        Answer::Written {
            object: Value::Object(object),
            warnings,
        }
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Answer::Refused(errors) => write!(f, "{errors:#?}"),
            Answer::Written { object, warnings } => write!(f, "{object}\n{warnings:#?}"),
        }
    }
}

/// Gives an object what the server gives it before its kind sees it.
pub(crate) fn identify(object: &mut Value) {
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.insert("uid".to_owned(), UID.into());
        metadata.insert("creationTimestamp".to_owned(), NOW.into());
    }
}

fn texts(list: Option<&Value>) -> Vec<String> {
    let items = list.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let text = |item: &Value| item.as_str().expect("errors and warnings are texts").to_owned();
    items.iter().map(text).collect()
}
