//! Custom resource definitions: their versions and the schemas these have.

use serde_json::Value as Json;

use crate::documents::Document;

/// A custom resource definition, borrowed from its document.
pub(super) struct Crd<'d> {
    /// The document it comes from.
    pub(super) file: &'d str,
    pub(super) name: &'d str,
    pub(super) group: &'d str,
    pub(super) kind: &'d str,
    pub(super) versions: Vec<Version<'d>>,
}

/// One version of a definition.
pub(super) struct Version<'d> {
    pub(super) name: &'d str,
    pub(super) storage: bool,
    /// The schema and the path of its field.
    pub(super) schema: Option<(&'d Json, String)>,
}

/// The reason why a document is not a definition that can be checked.
#[derive(Debug, thiserror::Error)]
pub(super) enum CrdError {
    #[error("{file}: kind is {kind:?}, and CustomResourceDefinition is wanted")]
    Kind { file: String, kind: String },
    #[error("{file}: apiVersion is {version:?}, and apiextensions.k8s.io/v1 is wanted")]
    ApiVersion { file: String, version: String },
    #[error("{file}: {field} is missing")]
    Missing { file: String, field: String },
    #[error("{file}: spec.versions[{at}].schema.openAPIV3Schema must be an object")]
    Schema { file: String, at: usize },
    #[error("{object} is {found}, but {file} defines {defined}")]
    OtherKind {
        object: String,
        found: String,
        file: String,
        defined: String,
    },
    #[error("{object} is of version {version:?}, but {file} has {known}")]
    OtherVersion {
        object: String,
        version: String,
        file: String,
        known: String,
    },
    #[error("{file}: version {version:?} has no schema")]
    NoSchema { file: String, version: String },
    #[error("{file}: rules cannot see the schema of version {version:?}")]
    Invisible { file: String, version: String },
}

fn text<'j>(value: &'j Json, path: &[&str]) -> &'j str {
    let found = path.iter().try_fold(value, |value, name| value.get(name));
    found.and_then(Json::as_str).unwrap_or_default()
}

/// Whether a document says it is a definition.
pub(super) fn is_crd(value: &Json) -> bool {
    text(value, &["kind"]) == "CustomResourceDefinition"
}

impl<'d> Crd<'d> {
    pub(super) fn read(document: &'d Document) -> Result<Crd<'d>, CrdError> {
        let (file, value) = (&document.name, &document.value);
        let kind = text(value, &["kind"]);
        if !is_crd(value) {
            let (file, kind) = (file.clone(), kind.to_owned());
            return Err(CrdError::Kind { file, kind });
        }
        let version = text(value, &["apiVersion"]);
        if version != "apiextensions.k8s.io/v1" {
            let (file, version) = (file.clone(), version.to_owned());
            return Err(CrdError::ApiVersion { file, version });
        }
        let missing = |field: &str| CrdError::Missing {
            file: file.clone(),
            field: field.to_owned(),
        };
        let needed = |path: &[&str]| {
            Some(text(value, path))
                .filter(|text| !text.is_empty())
                .ok_or_else(|| missing(&path.join(".")))
        };
        let versions = value.get("spec").and_then(|spec| spec.get("versions"));
        let versions = versions
            .and_then(Json::as_array)
            .filter(|versions| !versions.is_empty())
            .ok_or_else(|| missing("spec.versions"))?;
        Ok(Crd {
            file,
            name: text(value, &["metadata", "name"]),
            group: needed(&["spec", "group"])?,
            kind: needed(&["spec", "names", "kind"])?,
            versions: versions
                .iter()
                .enumerate()
                .map(|(at, version)| read_version(file, at, version))
                .collect::<Result<_, _>>()?,
        })
    }

    /// The version an object is of, or else the one that is stored.
    pub(super) fn version_of(&self, object: Option<&Document>) -> Result<&Version<'d>, CrdError> {
        let stored = || {
            let stored = self.versions.iter().find(|version| version.storage);
            stored.or(self.versions.first()).ok_or_else(|| CrdError::Missing {
                file: self.file.to_owned(),
                field: "spec.versions".to_owned(),
            })
        };
        let Some(object) = object else { return stored() };
        let (api_version, kind) = (text(&object.value, &["apiVersion"]), text(&object.value, &["kind"]));
        // A fragment that does not say what it is.
        if api_version.is_empty() && kind.is_empty() {
            return stored();
        }
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        if (group, kind) != (self.group, self.kind) {
            let named = |kind: &str, group: &str| match (kind, group) {
                ("", _) => "without a kind".to_owned(),
                (kind, "") => format!("a {kind} of the core group"),
                (kind, group) => format!("a {kind} of {group}"),
            };
            return Err(CrdError::OtherKind {
                object: object.name.clone(),
                found: named(kind, group),
                file: self.file.to_owned(),
                defined: named(self.kind, self.group),
            });
        }
        let found = self.versions.iter().find(|known| known.name == version);
        found.ok_or_else(|| CrdError::OtherVersion {
            object: object.name.clone(),
            version: version.to_owned(),
            file: self.file.to_owned(),
            known: self
                .versions
                .iter()
                .map(|version| version.name)
                .collect::<Vec<_>>()
                .join(", "),
        })
    }
}

fn read_version<'d>(file: &str, at: usize, version: &'d Json) -> Result<Version<'d>, CrdError> {
    let schema = version.get("schema").and_then(|schema| schema.get("openAPIV3Schema"));
    if schema.is_some_and(|schema| !schema.is_object()) {
        let file = file.to_owned();
        return Err(CrdError::Schema { file, at });
    }
    Ok(Version {
        name: text(version, &["name"]),
        storage: version.get("storage").and_then(Json::as_bool).unwrap_or(false),
        schema: schema.map(|schema| (schema, format!("spec.versions[{at}].schema.openAPIV3Schema"))),
    })
}
