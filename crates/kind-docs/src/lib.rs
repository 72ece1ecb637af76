//! What the built-in types of Kubernetes and their fields are for, for `kubectl explain` and the `OpenAPI` documents.
//! The words are those of the k8s-openapi package and, for options of requests and values of enumerations, of a kube-apiserver's
//! documents. They are checked in as tables of facts, the first of which the example `generate` writes.
//!
//! ```
//! use kubewright_kind_docs::builtin;
//! use kubewright_schema::openapi::TypeDocs as _;
//!
//! let descriptions = builtin();
//! assert!(!descriptions.is_empty() && descriptions.len() > 500);
//! let image = descriptions.of_field("io.k8s.api.core.v1.Container", "image").unwrap();
//! assert!(image.starts_with("Container image name."), "{image}");
//! assert_eq!(descriptions.of_type("io.k8s.api.core.v1.Boat"), None);
//! assert!(descriptions.of_value("io.k8s.api.core.v1.PullPolicy", "Always").unwrap().contains("pull"));
//! assert!(descriptions.of_field("io.k8s.apimachinery.pkg.apis.meta.v1.ListOptions", "limit").is_some());
//! ```

use std::borrow::Cow;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::OnceLock;

use kubewright_schema::openapi::TypeDocs;

/// A line per type (its name, a space, its description) and below it a line per field, indented by a space. Line breaks and
/// backslashes are escaped; a line that begins with `#` is a comment. Types and the fields of each are ordered by name.
static FACTS: &str = include_str!("../facts/v1.36/descriptions.facts");

/// The same for what that package does not have, or not to the letter: options of requests, values of enumerations in place of fields,
/// lists and events of watches. It is written by `conformance/upstream/option-descriptions` from the documents of a kube-apiserver.
static OPTIONS: &str = include_str!("../facts/v1.36/options.facts");

/// The descriptions of the built-in types.
pub fn builtin() -> &'static KindDocs {
    static BUILTIN: OnceLock<KindDocs> = OnceLock::new();
    BUILTIN.get_or_init(|| KindDocs::parse(FACTS).joined(KindDocs::parse(OPTIONS)))
}

/// A number that changes when the descriptions do.
pub fn fingerprint() -> u64 {
    let mut hasher = DefaultHasher::new();
    FACTS.hash(&mut hasher);
    OPTIONS.hash(&mut hasher);
    hasher.finish()
}

/// Descriptions by type and field.
#[derive(Debug, Default)]
pub struct KindDocs {
    /// Ordered by name.
    types: Vec<Type>,
}

#[derive(Debug)]
struct Type {
    name: &'static str,
    description: Cow<'static, str>,
    /// Ordered by name.
    fields: Vec<(&'static str, Cow<'static, str>)>,
}

impl KindDocs {
    fn parse(facts: &'static str) -> Self {
        let mut types: Vec<Type> = Vec::with_capacity(1024);
        for line in facts.lines().filter(|line| !line.starts_with('#')) {
            let (is_field, line) = match line.strip_prefix(' ') {
                Some(field) => (true, field),
                None => (false, line),
            };
            let (name, description) = line.split_once(' ').unwrap_or((line, ""));
            let description = unescaped(description);
            match types.last_mut().filter(|_| is_field) {
                Some(ty) => ty.fields.push((name, description)),
                None => types.push(Type {
                    name,
                    description,
                    fields: Vec::new(),
                }),
            }
        }
        KindDocs { types }
    }

    /// These descriptions, and those of others for what has none here or is said otherwise there.
    fn joined(mut self, others: Self) -> Self {
        for other in others.types {
            match self.types.binary_search_by(|ty| ty.name.cmp(other.name)) {
                Err(at) => self.types.insert(at, other),
                Ok(at) => {
                    let ty = &mut self.types[at];
                    if !other.description.is_empty() {
                        ty.description = other.description;
                    }
                    for field in other.fields {
                        match ty.fields.binary_search_by(|(name, _)| (*name).cmp(field.0)) {
                            Ok(at) => ty.fields[at] = field,
                            Err(at) => ty.fields.insert(at, field),
                        }
                    }
                }
            }
        }
        self
    }

    /// How many types are described.
    pub fn len(&self) -> usize {
        self.types.len()
    }

    /// Whether nothing is described.
    pub fn is_empty(&self) -> bool {
        self.types.is_empty()
    }

    fn named(&self, name: &str) -> Option<&Type> {
        let at = self.types.binary_search_by(|ty| ty.name.cmp(name)).ok()?;
        self.types.get(at)
    }
}

impl TypeDocs for KindDocs {
    fn of_type(&self, name: &str) -> Option<&str> {
        not_empty(&self.named(name)?.description)
    }

    fn of_field(&self, name: &str, field: &str) -> Option<&str> {
        let fields = &self.named(name)?.fields;
        let at = fields.binary_search_by(|(name, _)| (*name).cmp(field)).ok()?;
        not_empty(&fields.get(at)?.1)
    }

    fn of_value(&self, enumeration: &str, value: &str) -> Option<&str> {
        self.of_field(enumeration, value)
    }
}

fn not_empty(description: &str) -> Option<&str> {
    (!description.is_empty()).then_some(description)
}

/// Line breaks and backslashes as they were before the table was written.
fn unescaped(description: &'static str) -> Cow<'static, str> {
    if !description.contains('\\') {
        return description.into();
    }
    let mut text = String::with_capacity(description.len());
    let mut characters = description.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => match characters.next() {
                Some('n') => text.push('\n'),
                other => text.extend(other),
            },
            other => text.push(other),
        }
    }
    text.into()
}
