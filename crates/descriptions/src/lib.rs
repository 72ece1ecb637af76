//! What the built-in types of Kubernetes and their fields are for, for `kubectl explain` and the `OpenAPI` documents.
//! The words are those of the k8s-openapi package, packed when this crate is built and unpacked when first asked for.
//!
//! ```
//! use kubewright_descriptions::builtin;
//! use kubewright_schema::openapi::Prose as _;
//!
//! let words = builtin();
//! assert!(!words.is_empty() && words.len() > 500);
//! let said = words.of_field("io.k8s.api.core.v1.Container", "image").unwrap();
//! assert!(said.starts_with("Container image name."), "{said}");
//! assert_eq!(words.of_type("io.k8s.api.core.v1.Boat"), None);
//! ```

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::Read as _;
use std::sync::OnceLock;

use kubewright_schema::openapi::Prose;

static PACKED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/descriptions"));

/// The descriptions of the built-in types.
pub fn builtin() -> &'static Descriptions {
    static BUILTIN: OnceLock<Descriptions> = OnceLock::new();
    BUILTIN.get_or_init(|| Descriptions::unpack(PACKED))
}

/// A number that changes when the descriptions do.
pub fn fingerprint() -> u64 {
    let mut hasher = DefaultHasher::new();
    PACKED.hash(&mut hasher);
    hasher.finish()
}

/// Descriptions by type and field.
#[derive(Debug, Default)]
pub struct Descriptions {
    /// Ordered by name.
    types: Vec<Type>,
}

#[derive(Debug)]
struct Type {
    name: Box<str>,
    description: Box<str>,
    /// Ordered by name.
    fields: Vec<(Box<str>, Box<str>)>,
}

impl Descriptions {
    fn unpack(packed: &[u8]) -> Self {
        let mut text = String::new();
        let unpacked = flate2::read::DeflateDecoder::new(packed).read_to_string(&mut text);
        debug_assert!(unpacked.is_ok(), "the build script packs text");
        let mut types: Vec<Type> = Vec::with_capacity(1024);
        for line in text.lines() {
            if let Some((field, words)) = line.strip_prefix('\t').and_then(|line| line.split_once('\t')) {
                if let Some(of) = types.last_mut() {
                    of.fields.push((field.into(), unescaped(words)));
                }
            } else if let Some((name, words)) = line.split_once('\t') {
                types.push(Type {
                    name: name.into(),
                    description: unescaped(words),
                    fields: Vec::new(),
                });
            }
        }
        Descriptions { types }
    }

    /// How many types are described.
    pub fn len(&self) -> usize {
        self.types.len()
    }

    /// Whether nothing is described, as when the package was not there at build time.
    pub fn is_empty(&self) -> bool {
        self.types.is_empty()
    }

    fn named(&self, name: &str) -> Option<&Type> {
        let at = self.types.binary_search_by(|ty| (*ty.name).cmp(name)).ok()?;
        self.types.get(at)
    }
}

impl Prose for Descriptions {
    fn of_type(&self, name: &str) -> Option<&str> {
        said(&self.named(name)?.description)
    }

    fn of_field(&self, name: &str, field: &str) -> Option<&str> {
        let fields = &self.named(name)?.fields;
        let at = fields.binary_search_by(|(of, _)| (**of).cmp(field)).ok()?;
        said(&fields.get(at)?.1)
    }
}

fn said(words: &str) -> Option<&str> {
    (!words.is_empty()).then_some(words)
}

/// Undoes what the build script does to line breaks and backslashes.
fn unescaped(words: &str) -> Box<str> {
    if !words.contains('\\') {
        return words.into();
    }
    let mut text = String::with_capacity(words.len());
    let mut letters = words.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => match letters.next() {
                Some('n') => text.push('\n'),
                other => text.extend(other),
            },
            other => text.push(other),
        }
    }
    text.into()
}
