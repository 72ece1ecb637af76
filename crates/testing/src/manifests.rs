//! Objects from YAML, JSON and Rust values.

use std::path::{Path, PathBuf};

use kubewright_codec::yaml;
use kubewright_runtime::object::{Kind, Object};
use serde_json::Value;

use crate::Error;

/// What can be applied: YAML with one or more documents, a JSON value, or an object of a Rust type.
///
/// ```
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kubewright_testing::Manifests;
///
/// let two = "{kind: ConfigMap, apiVersion: v1, metadata: {name: a}}\n---\n{kind: Secret, apiVersion: v1, metadata: {name: b}}\n";
/// assert_eq!(two.objects().unwrap().len(), 2);
/// assert_eq!((&ConfigMap::default()).objects().unwrap()[0]["kind"], "ConfigMap");
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be applied",
    label = "expected YAML, a `serde_json::Value` or a reference to an object",
    note = "a file is applied with `env.apply_file(\"path from the crate\")`"
)]
pub trait Manifests {
    /// The objects.
    fn objects(self) -> Result<Vec<Value>, Error>;
}

impl Manifests for &str {
    fn objects(self) -> Result<Vec<Value>, Error> {
        parse("the YAML", self)
    }
}

impl Manifests for String {
    fn objects(self) -> Result<Vec<Value>, Error> {
        parse("the YAML", &self)
    }
}

impl Manifests for Value {
    fn objects(self) -> Result<Vec<Value>, Error> {
        match self {
            Value::Array(objects) => Ok(objects),
            object => Ok(vec![object]),
        }
    }
}

impl<K: Object> Manifests for &K {
    fn objects(self) -> Result<Vec<Value>, Error> {
        let kind = Kind::of::<K>();
        let mut object = serde_json::to_value(self).map_err(|error| Error::Manifest {
            place: kind.to_string(),
            problem: error.to_string(),
        })?;
        object["apiVersion"] = kind.api_version().into();
        object["kind"] = kind.kind().into();
        Ok(vec![object])
    }
}

/// The objects of a file; what is relative is so to the crate that is tested.
pub(crate) fn read(path: &Path) -> Result<Vec<Value>, Error> {
    let path = absolute(path);
    let text = std::fs::read_to_string(&path);
    let text = text.map_err(|source| Error::File {
        path: path.clone(),
        source,
    })?;
    parse(&path.display().to_string(), &text)
}

/// The objects of a file, or of all YAML and JSON files of a folder in the order of their names.
pub(crate) fn read_all(path: &Path) -> Result<Vec<Value>, Error> {
    if !absolute(path).is_dir() {
        return read(path);
    }
    let mut objects = Vec::new();
    for file in files(path)? {
        objects.extend(read(&file)?);
    }
    Ok(objects)
}

/// The YAML and JSON files of a folder, in the order of their names.
pub(crate) fn files(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let path = absolute(folder);
    let unreadable = |source| Error::File {
        path: path.clone(),
        source,
    };
    let entries: Result<Vec<_>, _> = std::fs::read_dir(&path).map_err(unreadable)?.collect();
    let mut files: Vec<PathBuf> = entries
        .map_err(unreadable)?
        .iter()
        .map(std::fs::DirEntry::path)
        .collect();
    files.sort();
    let is_manifest = |file: &PathBuf| {
        let extension = file.extension().and_then(std::ffi::OsStr::to_str);
        file.is_file() && matches!(extension, Some("yaml" | "yml" | "json"))
    };
    files.retain(is_manifest);
    Ok(files)
}

/// Cargo says at run time where the crate is that is tested.
fn absolute(path: &Path) -> PathBuf {
    match std::env::var_os("CARGO_MANIFEST_DIR") {
        Some(folder) if path.is_relative() => Path::new(&folder).join(path),
        _ => path.to_owned(),
    }
}

fn parse(place: &str, text: &str) -> Result<Vec<Value>, Error> {
    let mut objects = Vec::new();
    for (number, document) in documents(text).into_iter().enumerate() {
        let wrong = |problem: String| Error::Manifest {
            place: format!("{place}, document {}", number + 1),
            problem,
        };
        let decoded = yaml::decode(document.as_bytes()).map_err(|error| wrong(error.to_string()))?;
        match decoded.value {
            Value::Null => {}
            Value::Object(mut object) if object.get("kind").is_some_and(|kind| kind == "List") => {
                if let Some(Value::Array(items)) = object.remove("items") {
                    objects.extend(items);
                }
            }
            object @ Value::Object(_) => objects.push(object),
            _ => return Err(wrong("not an object".to_owned())),
        }
    }
    if objects.is_empty() {
        return Err(Error::Manifest {
            place: place.to_owned(),
            problem: "there is no object in it".to_owned(),
        });
    }
    Ok(objects)
}

/// The documents of a stream: parted by lines that begin with `---`.
fn documents(text: &str) -> Vec<String> {
    let mut documents = vec![String::new()];
    for line in text.lines() {
        match line.strip_prefix("---") {
            Some(rest) if rest.is_empty() || rest.starts_with([' ', '\t']) => {
                documents.push(rest.trim_start().to_owned());
            }
            _ => {
                if let Some(document) = documents.last_mut() {
                    document.push_str(line);
                }
            }
        }
        if let Some(document) = documents.last_mut() {
            document.push('\n');
        }
    }
    documents
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_may_be_empty_and_be_lists() {
        let text = "# a comment\n---\nkind: A\n---\n---\nkind: List\nitems: [{kind: B}, {kind: C}]\n--- # D\nkind: D\n";
        let kinds: Vec<_> = text
            .objects()
            .unwrap()
            .iter()
            .map(|object| object["kind"].clone())
            .collect();
        assert_eq!(kinds, ["A", "B", "C", "D"]);
    }

    #[test]
    fn what_is_wrong_is_named_with_its_document() {
        let error = "kind: A\n---\n- 1\n".objects().unwrap_err();
        assert_eq!(error.text(), "the YAML, document 2: not an object");
        let error = "kind: A\n---\n{a: [}\n".objects().unwrap_err();
        assert!(error.text().starts_with("the YAML, document 2: "), "{}", error.text());
        assert_eq!("".objects().unwrap_err().text(), "the YAML: there is no object in it");
    }
}
