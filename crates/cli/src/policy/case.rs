//! Cases: what a file of tests says.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use kubewright_apiserver::User;
use serde_json::{Map, Value};

use crate::documents::{self, InputError};

/// One request and what is expected of it.
pub(super) struct Case {
    /// The file it is in, within the folder.
    pub(super) file: String,
    pub(super) name: String,
    pub(super) operation: Operation,
    pub(super) subresource: Option<String>,
    /// What is sent. For a deletion it is what is deleted.
    pub(super) object: Value,
    /// What is there before.
    pub(super) old: Option<Value>,
    /// Metadata of the namespace that the case has.
    pub(super) namespace: Option<Map<String, Value>>,
    pub(super) user: Option<User>,
    /// Objects that are there in this case only.
    pub(super) params: Vec<Value>,
    pub(super) expected: Expected,
    /// The files that it names.
    pub(super) files: Vec<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operation {
    Create,
    Update,
    Delete,
}

/// What policies say to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Allow,
    Deny,
}

impl Verdict {
    pub(super) fn name(self) -> &'static str {
        match self {
            Verdict::Allow => "allow",
            Verdict::Deny => "deny",
        }
    }
}

impl Operation {
    pub(super) fn name(self) -> &'static str {
        match self {
            Operation::Create => "CREATE",
            Operation::Update => "UPDATE",
            Operation::Delete => "DELETE",
        }
    }
}

/// What is expected.
pub(super) struct Expected {
    pub(super) verdict: Verdict,
    pub(super) message: Option<String>,
    pub(super) warnings: Option<Vec<String>>,
    pub(super) annotations: BTreeMap<String, String>,
    pub(super) object: Option<Value>,
}

#[derive(Debug, thiserror::Error)]
pub(super) enum CaseError {
    #[error(transparent)]
    Input(#[from] InputError),
    #[error("{document}: {field}: {why}")]
    Field {
        document: String,
        field: String,
        why: String,
    },
}

/// A part of a document, with its path.
struct Part<'v> {
    document: &'v str,
    path: String,
    value: &'v Value,
}

impl<'v> Part<'v> {
    fn error(&self, why: impl Into<String>) -> CaseError {
        CaseError::Field {
            document: self.document.to_owned(),
            field: if self.path.is_empty() { "document" } else { &self.path }.to_owned(),
            why: why.into(),
        }
    }

    /// A field, unless it is not there.
    fn field(&self, name: &str) -> Option<Part<'v>> {
        let value = self.value.get(name).filter(|value| !value.is_null())?;
        let path = if self.path.is_empty() {
            name.to_owned()
        } else {
            format!("{}.{name}", self.path)
        };
        Some(Part { path, value, ..*self })
    }

    /// Refuses what is not an object of these fields.
    fn only(&self, known: &[&str]) -> Result<&'v Map<String, Value>, CaseError> {
        let Some(fields) = self.value.as_object() else {
            return Err(self.error("an object is wanted"));
        };
        match fields.keys().find(|name| !known.contains(&name.as_str())) {
            Some(unknown) => Err(self.error(format!("unknown field {unknown:?}; known are {}", known.join(", ")))),
            None => Ok(fields),
        }
    }

    fn text(&self) -> Result<&'v str, CaseError> {
        self.value.as_str().ok_or_else(|| self.error("a string is wanted"))
    }

    fn items(&self) -> Result<Vec<Part<'v>>, CaseError> {
        let items = self.value.as_array().ok_or_else(|| self.error("a list is wanted"))?;
        let part = |(at, value)| Part {
            path: format!("{}[{at}]", self.path),
            value,
            ..*self
        };
        Ok(items.iter().enumerate().map(part).collect())
    }

    fn texts(&self) -> Result<Vec<String>, CaseError> {
        self.items()?.iter().map(|item| Ok(item.text()?.to_owned())).collect()
    }
}

const FIELDS: [&str; 10] = [
    "name",
    "object",
    "oldObject",
    "operation",
    "subresource",
    "namespace",
    "user",
    "groups",
    "params",
    "expect",
];

impl Case {
    /// What stands behind the path of the object.
    pub(super) fn subresource_path(&self) -> String {
        match &self.subresource {
            Some(name) => format!("/{name}"),
            None => String::new(),
        }
    }

    /// The cases of a file.
    pub(super) fn read_all(root: &Path, path: &Path) -> Result<Vec<Case>, CaseError> {
        let file = path.strip_prefix(root).unwrap_or(path).display().to_string();
        let mut cases = Vec::new();
        for document in documents::read_all(path)? {
            let part = Part {
                document: &document.name,
                path: String::new(),
                value: &document.value,
            };
            part.only(&["cases"])?;
            let Some(list) = part.field("cases") else {
                return Err(part.error("cases is missing"));
            };
            for item in list.items()? {
                cases.push(Case::read(&file, path, &item)?);
            }
        }
        Ok(cases)
    }

    fn read(file: &str, path: &Path, part: &Part<'_>) -> Result<Case, CaseError> {
        part.only(&FIELDS)?;
        let needed = |name: &str| part.field(name).ok_or_else(|| part.error(format!("{name} is missing")));
        let mut files = Vec::new();
        let mut object = |name: &str| {
            part.field(name)
                .map(|field| read_object(path, &field, &mut files))
                .transpose()
        };
        let (new, old) = (object("object")?, object("oldObject")?);
        let operation = match part.field("operation") {
            None if old.is_some() => Operation::Update,
            None => Operation::Create,
            Some(field) => match field.text()? {
                "CREATE" => Operation::Create,
                "UPDATE" => Operation::Update,
                "DELETE" => Operation::Delete,
                other => return Err(field.error(format!("{other:?} is not CREATE, UPDATE or DELETE"))),
            },
        };
        let (object, old) = match (operation, new, old) {
            (Operation::Create, Some(new), None) => (new, None),
            (Operation::Update, Some(new), Some(old)) => (new, Some(old)),
            (Operation::Delete, None, Some(old)) | (Operation::Delete, Some(old), None) => (old.clone(), Some(old)),
            (Operation::Create, _, Some(_)) => return Err(part.error("CREATE has no oldObject")),
            (Operation::Create, None, None) => return Err(part.error("object is missing")),
            (Operation::Update, ..) => return Err(part.error("UPDATE needs object and oldObject")),
            (Operation::Delete, ..) => return Err(part.error("DELETE needs one object, in oldObject")),
        };
        let params = match part.field("params") {
            None => Vec::new(),
            Some(params) => {
                let read = |item: &Part<'_>| read_object(path, item, &mut files);
                params.items()?.iter().map(read).collect::<Result<_, _>>()?
            }
        };
        Ok(Case {
            file: file.to_owned(),
            name: needed("name")?.text()?.to_owned(),
            operation,
            subresource: part
                .field("subresource")
                .map(|field| field.text().map(str::to_owned))
                .transpose()?,
            object,
            old,
            namespace: part
                .field("namespace")
                .map(|field| read_namespace(&field))
                .transpose()?,
            user: read_user(part)?,
            params,
            expected: Expected::read(&needed("expect")?)?,
            files,
        })
    }
}

/// An object, or the one document of the file that is named.
fn read_object(path: &Path, part: &Part<'_>, files: &mut Vec<PathBuf>) -> Result<Value, CaseError> {
    let object = match part.value {
        Value::String(name) => {
            let file = path.parent().unwrap_or(Path::new("")).join(name);
            let document = documents::read_one(&file)?;
            files.push(file);
            document.value
        }
        value => value.clone(),
    };
    for field in ["/apiVersion", "/kind", "/metadata/name"] {
        if !object.pointer(field).is_some_and(Value::is_string) {
            return Err(part.error(format!("{} is missing", field[1..].replace('/', "."))));
        }
    }
    Ok(object)
}

fn read_namespace(part: &Part<'_>) -> Result<Map<String, Value>, CaseError> {
    if let Value::String(name) = part.value {
        return Ok(Map::from_iter([("name".to_owned(), name.as_str().into())]));
    }
    let fields = part.only(&["name", "labels", "annotations"])?;
    match part.field("name") {
        Some(name) => name.text()?,
        None => return Err(part.error("name is missing")),
    };
    Ok(fields.clone())
}

fn read_user(part: &Part<'_>) -> Result<Option<User>, CaseError> {
    let groups = match part.field("groups") {
        Some(groups) => groups.texts()?,
        None => Vec::new(),
    };
    match part.field("user") {
        Some(user) => Ok(Some(User::new(user.text()?, groups))),
        None if groups.is_empty() => Ok(None),
        None => Err(part.error("groups are of a user; user is missing")),
    }
}

impl Expected {
    fn read(part: &Part<'_>) -> Result<Expected, CaseError> {
        let verdict = |part: &Part<'_>| match part.text()? {
            "allow" => Ok(Verdict::Allow),
            "deny" => Ok(Verdict::Deny),
            other => Err(part.error(format!("{other:?} is not allow or deny"))),
        };
        let mut expected = Expected {
            verdict: Verdict::Allow,
            message: None,
            warnings: None,
            annotations: BTreeMap::new(),
            object: None,
        };
        if part.value.is_string() {
            expected.verdict = verdict(part)?;
            return Ok(expected);
        }
        part.only(&["verdict", "message", "warnings", "auditAnnotations", "object"])?;
        let Some(field) = part.field("verdict") else {
            return Err(part.error("verdict is missing"));
        };
        expected.verdict = verdict(&field)?;
        if let Some(message) = part.field("message") {
            expected.message = Some(message.text()?.to_owned());
        }
        if let Some(warnings) = part.field("warnings") {
            expected.warnings = Some(warnings.texts()?);
        }
        if let Some(annotations) = part.field("auditAnnotations") {
            let Some(fields) = annotations.value.as_object() else {
                return Err(annotations.error("an object is wanted"));
            };
            for (key, value) in fields {
                let Some(value) = value.as_str() else {
                    return Err(annotations.error(format!("the value of {key:?} must be a string")));
                };
                expected.annotations.insert(key.clone(), value.to_owned());
            }
        }
        expected.object = part.field("object").map(|object| object.value.clone());
        match (expected.verdict, &expected.message, &expected.object) {
            (Verdict::Allow, Some(_), _) => Err(part.error("what is allowed has no message; expect warnings")),
            (Verdict::Deny, _, Some(_)) => Err(part.error("what is denied is not stored, and has no object")),
            _ => Ok(expected),
        }
    }
}
