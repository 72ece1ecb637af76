//! `OpenAPI` v3 of the built-ins: an index with hashed addresses, and one document per group-version (O3, O4).

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use kubewright_schema as schema;
use parking_lot::Mutex;
use serde_json::{Map, Value, json};

/// A document, made once and served as bytes.
#[derive(Clone)]
pub(crate) struct Document {
    pub(crate) text: Bytes,
    /// Changes when the text does.
    pub(crate) hash: String,
}

impl Document {
    pub(crate) fn of(value: &Value) -> Document {
        let text = Bytes::from(crate::wire::respond::text_of(value));
        Document {
            hash: hash(&text),
            text,
        }
    }
}

/// `/openapi/v3`: where each document is.
pub(crate) fn index() -> &'static Bytes {
    static INDEX: OnceLock<Bytes> = OnceLock::new();
    INDEX.get_or_init(|| {
        let mut paths = Map::new();
        for name in schema::openapi::names() {
            let url = format!("/openapi/v3/{name}?hash={}", schema_hash(&name));
            paths.insert(name, json!({ "serverRelativeURL": url }));
        }
        Bytes::from(json!({ "paths": paths }).to_string())
    })
}

/// The document behind a name such as `apis/apps/v1`; made when first asked for.
pub(crate) fn document(name: &str) -> Option<Arc<Document>> {
    static MADE: Mutex<BTreeMap<String, Arc<Document>>> = Mutex::new(BTreeMap::new());
    let mut made = MADE.lock();
    if let Some(document) = made.get(name) {
        return Some(Arc::clone(document));
    }
    let text = Bytes::from(crate::wire::respond::text_of(&schema::openapi::document(name)?));
    let document = Arc::new(Document {
        text,
        hash: schema_hash(name),
    });
    made.insert(name.to_owned(), Arc::clone(&document));
    Some(document)
}

/// The table of facts is part of the binary: its fingerprint stands for every document made from it.
fn schema_hash(path: &str) -> String {
    hash(format!("{path} {}", schema::fingerprint()).as_bytes())
}

fn hash(bytes: &[u8]) -> String {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    format!("{:016X}", hasher.finish())
}
