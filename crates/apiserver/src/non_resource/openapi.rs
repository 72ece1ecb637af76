//! `OpenAPI` of everything the server serves: v3 as an index with hashed addresses and one document per group-version, v2
//! as one document (C15, O3, O4). Documents are made when first asked for and kept until a definition changes.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;

use bytes::Bytes;
use jiff::Timestamp;
use kubewright_kind_docs as kind_docs;
use kubewright_schema as schema;
use kubewright_structural::openapi as custom;
use parking_lot::Mutex;
use serde_json::{Map, Value, json};

use crate::aggregation::ApiServiceSet;
use crate::aggregation::openapi::merge_swagger;
use crate::custom::ServedResources;
use crate::server::Server;

/// A document, made once and served as bytes.
#[derive(Clone)]
pub(crate) struct Document {
    pub(crate) text: Bytes,
    /// Changes when the text does.
    pub(crate) hash: String,
}

impl Document {
    pub(crate) fn of(text: Vec<u8>) -> Document {
        Document {
            hash: hash(&text),
            text: text.into(),
        }
    }
}

/// The text of a document of version 3.
fn document_text(document: &Value) -> Bytes {
    let mut text = Vec::new();
    schema::openapi::write_document(document, &mut text);
    text.into()
}

/// What documents are made of, at one moment.
pub(crate) struct Sources {
    pub(crate) served: Arc<ServedResources>,
    pub(crate) services: Arc<ApiServiceSet>,
    /// Other numbers mean other documents.
    generation: (u64, u64),
}

impl Sources {
    pub(crate) fn of(server: &Server) -> Sources {
        // Before the set is read: what changes meanwhile is then made once more.
        let others = server.aggregation.generation();
        let defined = server.definitions.served();
        Sources {
            generation: (defined.generation, others),
            served: defined,
            services: server.aggregation.set(),
        }
    }
}

/// The documents of one server; those of the built-ins are made once per process.
#[derive(Default)]
pub(crate) struct Documents {
    made: Mutex<BuiltDocuments>,
}

/// What was made for one set of definitions and other servers.
#[derive(Default)]
struct BuiltDocuments {
    generation: (u64, u64),
    documents: BTreeMap<String, Arc<Document>>,
    protobuf: BTreeMap<String, Bytes>,
    swagger: Option<Arc<Document>>,
    swagger_protobuf: Option<Bytes>,
    /// When a document was first asked for.
    modified: Option<Timestamp>,
}

impl Documents {
    /// The document behind a name such as `apis/apps/v1`.
    pub(crate) fn document(&self, name: &str, sources: &Sources) -> Option<Arc<Document>> {
        let served = &*sources.served;
        if let Some(document) = self.current(sources).documents.get(name) {
            return Some(Arc::clone(document));
        }
        let built_in = built_in(name).filter(|_| !served.without_built_ins);
        let defined = name
            .strip_prefix("apis/")
            .and_then(|name| name.split_once('/'))
            .and_then(|(group, version)| custom::v3(group, version, served.definitions(), kind_docs::builtin()));
        let document = match (built_in, defined) {
            (Some(document), None) => return Some(document),
            (_, Some(value)) => Arc::new(Document {
                text: document_text(&value),
                hash: document_hash(name, served),
            }),
            (None, None) => {
                let mut translated = sources
                    .services
                    .remotes()
                    .filter_map(|remote| remote.translated_openapi());
                let (_, text) = translated.find(|(own, _)| own == name)?;
                let hash = hash(&text);
                Arc::new(Document { text, hash })
            }
        };
        self.current(sources)
            .documents
            .insert(name.to_owned(), Arc::clone(&document));
        Some(document)
    }

    /// The document behind a name, in protobuf.
    pub(crate) fn protobuf(&self, name: &str, document: &Document, sources: &Sources) -> Bytes {
        if let Some(bytes) = self.current(sources).protobuf.get(name) {
            return bytes.clone();
        }
        let value: Value = serde_json::from_slice(&document.text).unwrap_or_default();
        let bytes = Bytes::from(schema::openapi::document_protobuf(&value));
        self.current(sources).protobuf.insert(name.to_owned(), bytes.clone());
        bytes
    }

    /// `/openapi/v2`
    pub(crate) fn swagger(&self, sources: &Sources) -> Arc<Document> {
        if let Some(document) = &self.current(sources).swagger {
            return Arc::clone(document);
        }
        let mut value = if sources.served.without_built_ins {
            schema::openapi::empty_swagger()
        } else {
            schema::openapi::swagger(kind_docs::builtin())
        };
        custom::add_to_v2(&mut value, sources.served.definitions(), kind_docs::builtin());
        for remote in sources
            .services
            .groups()
            .flatten()
            .filter_map(|service| service.remote.as_ref())
        {
            if let Some(swagger) = remote.swagger() {
                merge_swagger(&mut value, swagger);
            }
        }
        let mut text = Vec::new();
        schema::openapi::write_swagger(&value, &mut text);
        let document = Arc::new(Document::of(text));
        self.current(sources).swagger = Some(Arc::clone(&document));
        document
    }

    /// `/openapi/v2` in protobuf.
    pub(crate) fn swagger_protobuf(&self, sources: &Sources) -> Bytes {
        if let Some(bytes) = &self.current(sources).swagger_protobuf {
            return bytes.clone();
        }
        let value: Value = serde_json::from_slice(&self.swagger(sources).text).unwrap_or_default();
        let bytes = Bytes::from(schema::openapi::swagger_protobuf(&value));
        self.current(sources).swagger_protobuf = Some(bytes.clone());
        bytes
    }

    /// Since when the documents are what they are, as an HTTP date.
    pub(crate) fn modified(&self, sources: &Sources, now: Timestamp) -> String {
        let modified = *self.current(sources).modified.get_or_insert(now);
        modified.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string()
    }

    /// What was made for these definitions and servers; what was made for others is dropped.
    fn current(&self, sources: &Sources) -> parking_lot::MutexGuard<'_, BuiltDocuments> {
        let mut made = self.made.lock();
        if made.generation != sources.generation {
            *made = BuiltDocuments {
                generation: sources.generation,
                ..BuiltDocuments::default()
            };
        }
        made
    }
}

/// `/openapi/v3`: where each document is.
pub(crate) fn index(sources: &Sources) -> Bytes {
    let served = &*sources.served;
    let mut paths: Map<String, Value> = sources.services.openapi_index().into_iter().collect();
    for remote in sources.services.remotes() {
        if let Some((name, text)) = remote.translated_openapi() {
            let url = format!("/openapi/v3/{name}?hash={}", hash(&text));
            paths.insert(name, json!({ "serverRelativeURL": url }));
        }
    }
    let mut names = if served.without_built_ins {
        Vec::new()
    } else {
        schema::openapi::names()
    };
    names.extend(custom::names(served.definitions()));
    for name in names {
        let url = format!("/openapi/v3/{name}?hash={}", document_hash(&name, served));
        paths.insert(name, json!({ "serverRelativeURL": url }));
    }
    Bytes::from(json!({ "paths": paths }).to_string())
}

/// Whether this server has a document of this name itself.
pub(crate) fn is_own_document(name: &str, served: &ServedResources) -> bool {
    schema::openapi::names().iter().any(|own| own == name)
        || custom::names(served.definitions()).iter().any(|own| own == name)
}

/// A document of the built-ins.
fn built_in(name: &str) -> Option<Arc<Document>> {
    static MADE: Mutex<BTreeMap<String, Arc<Document>>> = Mutex::new(BTreeMap::new());
    if let Some(document) = MADE.lock().get(name) {
        return Some(Arc::clone(document));
    }
    let value = schema::openapi::described(name, kind_docs::builtin())?;
    let document = Arc::new(Document {
        text: document_text(&value),
        hash: facts_hash(name),
    });
    MADE.lock().insert(name.to_owned(), Arc::clone(&document));
    Some(document)
}

/// The hash of a document, without making it: of the table of facts and of the definitions it is made from.
fn document_hash(name: &str, served: &ServedResources) -> String {
    let mut source = String::new();
    for kind in served.kinds() {
        let group = name
            .strip_prefix("apis/")
            .and_then(|name| name.strip_prefix(&kind.definition.group));
        if group.is_some_and(|rest| rest.starts_with('/')) {
            let _ = write!(source, " {}@{}", kind.definition.uid, kind.revision);
        }
    }
    if source.is_empty() {
        return facts_hash(name);
    }
    hash(format!("{name}{source}").as_bytes())
}

/// The table of facts is part of the binary: its fingerprint stands for every document made from it.
fn facts_hash(path: &str) -> String {
    let words = kind_docs::fingerprint();
    hash(format!("{path} {} {words}", schema::fingerprint()).as_bytes())
}

fn hash(bytes: &[u8]) -> String {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    format!("{:016X}", hasher.finish())
}
