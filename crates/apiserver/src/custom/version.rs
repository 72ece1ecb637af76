//! A custom resource in one version: the answers that the table of facts and `kinds` give for a built-in.

use std::cell::OnceCell;
use std::collections::HashSet;
use std::sync::{Arc, LazyLock};

use kubewright_apimachinery::field::{Errors, FieldError, PathRef};
use kubewright_apimachinery::names;
use kubewright_kinds::strategy::{Strategy, custom_strategy};
use kubewright_kinds::{Behaviour, Create, Update};
use kubewright_schema::Decoded;
use kubewright_store::Record;
use kubewright_structural::crd;
use kubewright_structural::schema::{Scale, Schema, select};
use kubewright_tables::Printer;
use kubewright_tables::custom::Columns;
use serde_json::Value;

use super::conversion::{ConversionCache, Unconverted, Unfinished};
use super::kind::{CompiledVersion, CustomKind};
use crate::object::{self, meta_text, remove_meta, set_meta};
use crate::registry::Subresource;

static SCALE_COLUMNS: LazyLock<Arc<Columns>> = LazyLock::new(|| Arc::new(Columns::of_scale()));

/// How to read a selectable field of a custom resource from a record.
#[derive(Clone)]
pub(crate) struct Lookup {
    path: Box<str>,
    /// The place among the kept values of records with this mark.
    kept: Option<usize>,
    mark: Box<str>,
    /// The version that the selector is about.
    version: Arc<Version>,
}

impl PartialEq for Lookup {
    fn eq(&self, other: &Self) -> bool {
        (&self.path, self.kept, &self.mark) == (&other.path, other.kept, &other.mark)
    }
}

impl Eq for Lookup {}

impl std::fmt::Debug for Lookup {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Lookup")
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

impl Lookup {
    /// Whether the field's text in a record satisfies `test`. `read` keeps the record's object, once a term has read it.
    pub(crate) fn test(
        &self,
        record: &Record,
        read: &OnceCell<Value>,
        cache: &ConversionCache,
        test: impl FnOnce(&str) -> bool,
    ) -> Result<bool, Unfinished> {
        if record.fields.last() == Some(&self.mark)
            && let Some(value) = self.kept.and_then(|at| record.fields.get(at))
        {
            return Ok(test(value));
        }
        // Stored before the definition made the field selectable, or selectable in another version only: what counts is
        // what a reader would see.
        let object = if let Some(object) = read.get() {
            object
        } else {
            let object = self.version.serve(object::parsed(&record.body), record, cache)?;
            read.get_or_init(|| object)
        };
        Ok(test(&select(object, &self.path)))
    }
}

/// One version of a defined kind.
pub(crate) struct Version {
    pub(crate) kind: Arc<CustomKind>,
    at: usize,
    /// `group/version`
    written_as: String,
}

impl Version {
    pub(super) fn new(kind: Arc<CustomKind>, at: usize) -> Self {
        let written_as = format!("{}/{}", kind.definition.group, kind.definition.versions[at].name);
        Version { kind, at, written_as }
    }

    pub(crate) fn definition(&self) -> &crd::Version {
        &self.kind.definition.versions[self.at]
    }

    fn compiled(&self) -> &CompiledVersion {
        self.kind.compiled(self.at)
    }

    pub(crate) fn schema(&self) -> &Schema {
        &self.compiled().schema
    }

    pub(crate) fn strategy(&self) -> &'static Strategy {
        custom_strategy(self.definition().status)
    }

    pub(crate) fn verbs(&self, subresource: Option<Subresource<'_>>) -> Option<&[&'static str]> {
        let definition = self.definition();
        match subresource {
            None => Some(self.kind.definition.verbs()),
            Some(Subresource::Status) if definition.status => Some(self.kind.definition.subresource_verbs()),
            Some(Subresource::Scale) if definition.scale.is_some() => Some(self.kind.definition.subresource_verbs()),
            Some(_) => None,
        }
    }

    /// What prints the objects: the columns of the definition.
    pub(crate) fn printer(&self, subresource: Option<Subresource<'_>>) -> Printer {
        match subresource {
            Some(Subresource::Scale) => Printer::Custom(Arc::clone(&SCALE_COLUMNS)),
            _ => Printer::Custom(Arc::clone(&self.compiled().columns)),
        }
    }

    pub(crate) fn deprecation(&self) -> Option<&str> {
        self.definition().deprecation_warning.as_deref()
    }

    pub(crate) fn scale(&self) -> Option<&Scale> {
        self.compiled().scale.as_ref()
    }

    pub(crate) fn replicas_paths(&self) -> Vec<(String, Option<String>)> {
        let definition = &self.kind.definition;
        let versions = definition.versions.iter();
        versions
            .map(|version| {
                let path = version.scale.as_ref().map(|scale| {
                    let path = &scale.spec_replicas_path;
                    path.strip_prefix('.').unwrap_or(path).to_owned()
                });
                (format!("{}/{}", definition.group, version.name), path)
            })
            .collect()
    }

    /// The labels of the fields that the definition makes selectable: their paths without the first dot (C14).
    pub(crate) fn selectable_labels(&self) -> impl Iterator<Item = &str> {
        let paths = self.definition().selectable_fields.iter();
        paths.map(|path| path.strip_prefix('.').unwrap_or(path))
    }

    pub(crate) fn selectable_field(&self, label: &str, namespaced: bool) -> Result<(), String> {
        let known = label == "metadata.name"
            || (namespaced && label == "metadata.namespace")
            || self.selectable_labels().any(|known| known == label);
        if known {
            return Ok(());
        }
        Err(format!("field label not supported: {label}"))
    }

    /// What a record keeps of an object: the values of the fields that are selectable in the storage version, and the mark.
    pub(crate) fn field_values(&self, object: &Value) -> Box<[Box<str>]> {
        let at = self.kind.storage().unwrap_or(self.at);
        let paths = self.kind.definition.versions[at].selectable_fields.iter();
        let compiled = self.kind.compiled(at);
        // The text may lack defaults of the version it is stored in: it was written through a version with another schema, or
        // is new and has no status. Upstream does not store these either; they are read with the defaults of that day.
        let mark = if self.is_alike(at) && compiled.schema.is_defaulted(object) {
            compiled.mark.clone()
        } else {
            self.kind.definition.versions[at].name.as_str().into()
        };
        paths.map(|path| select(object, path).into()).chain([mark]).collect()
    }

    /// Where the value of a selectable field is to be found in records.
    pub(crate) fn lookup(&self, label: &str) -> Lookup {
        let at = self.kind.storage().unwrap_or(self.at);
        let is_it = |path: &String| path.strip_prefix('.').unwrap_or(path) == label;
        Lookup {
            path: format!(".{label}").into(),
            kept: self.kind.definition.versions[at]
                .selectable_fields
                .iter()
                .position(is_it),
            mark: self.kind.compiled(at).mark.clone(),
            version: Arc::new(Version::new(Arc::clone(&self.kind), self.at)),
        }
    }

    /// Whether a record's text is what this version serves, but for its type.
    pub(crate) fn serves_as_stored(&self, record: &Record) -> bool {
        let (at, as_it_is) = self.stored_at(record);
        record.head > 0 && as_it_is && self.is_alike(at)
    }

    /// Whether objects of the version at a place of the definition are what this version's are, but for their type.
    fn is_alike(&self, at: usize) -> bool {
        let same_schema = || Arc::ptr_eq(&self.kind.compiled(at).schema, &self.compiled().schema);
        at == self.at || (self.kind.webhook().is_none() && same_schema())
    }

    /// The place of the version that a record was stored in, and whether that has not changed since. The mark that tells
    /// is kept behind the selectable fields.
    fn stored_at(&self, record: &Record) -> (usize, bool) {
        let mark = record.fields.last().map_or("", |mark| &**mark);
        let version = mark.split_once(' ').map_or(mark, |(version, _)| version);
        let at = self.kind.position(version).or_else(|| self.kind.storage());
        let at = at.unwrap_or(self.at);
        (at, *self.kind.compiled(at).mark == *mark)
    }

    /// A document as this version keeps it: metadata as it must be, unknown fields gone and named (C6, W2).
    pub(crate) fn decode(&self, mut value: Value) -> Result<Decoded, String> {
        // What says it is of another kind is refused later, by its kind, and left as it is until then.
        if !self.is_of_this_kind(&value) {
            return Ok(Decoded {
                value,
                unknown: Vec::new(),
            });
        }
        let unknown = self.schema().decode(&mut value).map_err(|error| error.to_string())?;
        Ok(Decoded { value, unknown })
    }

    /// An object that apply has merged, as this version keeps it until it is validated.
    pub(crate) fn decode_applied(&self, mut value: Value) -> Result<Value, String> {
        self.schema()
            .decode_applied(&mut value)
            .map_err(|error| error.to_string())?;
        Ok(value)
    }

    /// An object that apply has merged and that is valid, as storage gives it back.
    pub(crate) fn settle_applied(&self, object: &mut Value) {
        self.schema().settle_applied(object);
    }

    fn is_of_this_kind(&self, value: &Value) -> bool {
        let text = |key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default();
        let group = text("apiVersion").split_once('/').map_or("", |(group, _)| group);
        group == self.kind.definition.group && text("kind") == self.kind.definition.names.kind
    }

    /// Fills in the defaults of the schema (C7).
    pub(crate) fn default(&self, object: &mut Value) {
        if self.is_of_this_kind(object) {
            self.schema().default(object);
        }
    }

    /// The schema of any version of the kind.
    pub(crate) fn schema_at(&self, api_version: &str) -> Option<&Schema> {
        let (group, version) = api_version.split_once('/')?;
        if group != self.kind.definition.group {
            return None;
        }
        let at = self.kind.position(version)?;
        Some(&self.kind.compiled(at).schema)
    }

    /// An object in another version of the kind: the type changes, or the webhook changes all it likes (C11, C12).
    /// Fields that the other version does not know stay, as they do where upstream compares what managers own.
    pub(crate) fn convert(
        &self,
        mut object: Value,
        api_version: &str,
        cache: &ConversionCache,
    ) -> Result<Value, Unconverted> {
        self.schema_at(api_version).ok_or(Unconverted::MissingVersion)?;
        if object.get("apiVersion").and_then(Value::as_str) == Some(api_version) {
            return Ok(object);
        }
        if self.kind.webhook().is_some() {
            object = cache.converted(&object, api_version)?;
        }
        if let Some(fields) = object.as_object_mut() {
            fields.insert("apiVersion".into(), api_version.into());
        }
        Ok(object)
    }

    /// The same on the way to or from storage, where the schema prunes.
    fn convert_pruned(&self, object: Value, api_version: &str, cache: &ConversionCache) -> Result<Value, Unfinished> {
        if object.get("apiVersion").and_then(Value::as_str) == Some(api_version) {
            return Ok(object);
        }
        let mut converted = self.convert(object, api_version, cache)?;
        if let Some(schema) = self.schema_at(api_version) {
            schema.convert(&mut converted);
        }
        Ok(converted)
    }

    /// A stored object as this version shows it: pruned and defaulted by the schema it was stored with as that is now,
    /// then pruned by this version's (C7, C11).
    pub(crate) fn serve(
        &self,
        mut object: Value,
        record: &Record,
        cache: &ConversionCache,
    ) -> Result<Value, Unfinished> {
        let (at, as_it_is) = self.stored_at(record);
        if !as_it_is {
            self.kind.compiled(at).schema.read(&mut object);
        }
        if self.is_alike(at) {
            return Ok(object);
        }
        if self.kind.webhook().is_none() {
            self.schema().convert(&mut object);
            return Ok(object);
        }
        // Storage knows no resourceVersion, and the webhook gets what storage knows.
        let revision = meta_text(&object, "resourceVersion").to_owned();
        remove_meta(&mut object, "resourceVersion");
        if let Some(fields) = object.as_object_mut() {
            fields.insert("apiVersion".into(), self.kind.api_version(at).into());
            fields.insert("kind".into(), self.kind.definition.names.kind.as_str().into());
        }
        let mut served = self.convert_pruned(object, &self.written_as, cache)?;
        if !revision.is_empty() {
            set_meta(&mut served, "resourceVersion", revision);
        }
        Ok(served)
    }

    /// An object as the storage version keeps it; `None` where that is as it is.
    pub(crate) fn for_storage(&self, object: &Value, cache: &ConversionCache) -> Result<Option<Value>, Unfinished> {
        let Some(at) = self.kind.storage() else {
            return Ok(None);
        };
        let alike = self.is_alike(at);
        // Nulls without meaning leave on the way to storage; only apply brings any this far.
        if alike && !has_null(object) {
            return Ok(None);
        }
        let mut stored = object.clone();
        if alike || self.kind.webhook().is_none() {
            self.kind.compiled(at).schema.convert(&mut stored);
            return Ok(Some(stored));
        }
        remove_meta(&mut stored, "resourceVersion");
        self.convert_pruned(stored, &self.kind.api_version(at), cache).map(Some)
    }

    /// Takes out what admission added beyond the schema: by this version's if it is as that of storage, else when the object is converted.
    pub(crate) fn prune_admitted(&self, object: &mut Value) {
        if self.kind.storage().is_none_or(|at| self.is_alike(at)) {
            self.schema().convert(object);
        }
    }

    /// An object as it would come back from storage in this version: with the defaults of the storage version.
    pub(crate) fn stored_and_back(&self, object: Value, cache: &ConversionCache) -> Result<Value, Unfinished> {
        let Some(at) = self.kind.storage() else {
            return Ok(object);
        };
        let revision = meta_text(&object, "resourceVersion").to_owned();
        let mut stored = match self.for_storage(&object, cache)? {
            Some(stored) => stored,
            None => object,
        };
        self.kind.compiled(at).schema.default(&mut stored);
        if self.is_alike(at) {
            return Ok(stored);
        }
        if self.kind.webhook().is_none() {
            self.schema().convert(&mut stored);
            return Ok(stored);
        }
        let mut back = self.convert_pruned(stored, &self.written_as, cache)?;
        if !revision.is_empty() {
            set_meta(&mut back, "resourceVersion", revision);
        }
        Ok(back)
    }

    /// Everything wrong with a change; returns warnings of rules that an unchanged part does not meet (C18).
    pub(crate) fn validate_change(
        &self,
        object: &Value,
        old: &Value,
        subresource: Option<&str>,
        errors: &mut Errors,
    ) -> Vec<String> {
        let (schema, scale) = (self.schema(), self.compiled().scale.as_ref());
        match subresource {
            Some("status") => schema.validate_status(object, old, scale, errors),
            _ => schema.validate_update(object, old, scale, errors),
        }
    }

    /// Why an object is not of this kind; nothing else of it is looked at then.
    pub(crate) fn check_type(&self, object: &Value) -> Errors {
        let text = |key: &str| object.get(key).and_then(Value::as_str).unwrap_or_default();
        let mut errors = Errors::new();
        for (field, wanted) in [
            ("kind", self.kind.definition.names.kind.as_str()),
            ("apiVersion", self.written_as.as_str()),
        ] {
            let found = text(field);
            if found != wanted {
                errors.push(FieldError::invalid(
                    &PathRef::root(field),
                    found,
                    format!("must be {wanted}"),
                ));
            }
        }
        errors
    }
}

impl Behaviour for Version {
    fn default(&self, object: &mut Value) {
        Version::default(self, object);
    }

    fn prepare_create(&self, create: Create<'_>) {
        if self.definition().status
            && let Some(object) = create.object.as_object_mut()
        {
            object.remove("status");
        }
    }

    fn prepare_update(&self, mut update: Update<'_>) {
        if self.definition().status {
            update.keep_unwritten();
        }
    }

    fn validate_create(&self, object: &Value, errors: &mut Errors) {
        self.schema().validate(object, self.compiled().scale.as_ref(), errors);
    }

    fn validate_update(&self, object: &Value, old: &Value, subresource: Option<&str>, errors: &mut Errors) {
        self.validate_change(object, old, subresource, errors);
    }

    fn warnings(&self, object: &Value, old: Option<&Value>) -> Vec<String> {
        let finalizers = |object: &Value| -> Vec<String> {
            let list = object.pointer("/metadata/finalizers").and_then(Value::as_array);
            let texts = list.into_iter().flatten().filter_map(Value::as_str);
            texts.map(str::to_owned).collect()
        };
        let before: HashSet<String> = old.map(finalizers).unwrap_or_default().into_iter().collect();
        let mut added = finalizers(object);
        added.retain(|finalizer| !before.contains(finalizer));
        added.sort_unstable();
        added.dedup();
        added
            .iter()
            .flat_map(|finalizer| finalizer_warnings(finalizer))
            .collect()
    }
}

fn has_null(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.iter().any(has_null),
        Value::Object(fields) => fields.values().any(has_null),
        _ => false,
    }
}

/// What a new finalizer of a custom resource is warned of.
fn finalizer_warnings(name: &str) -> Vec<String> {
    let shown = kubewright_apimachinery::go::quote(name);
    let mut warnings: Vec<String> = names::qualified_name(name)
        .into_iter()
        .map(|why| format!("metadata.finalizers: {shown}: {why}"))
        .collect();
    if !name.contains('/') && !matches!(name, "orphan" | "foregroundDeletion" | "kubernetes") {
        let including = if name.contains('.') {
            " including a path (/)"
        } else {
            ""
        };
        warnings.push(format!(
            "metadata.finalizers: {shown}: prefer a domain-qualified finalizer name{including} to avoid accidental \
             conflicts with other finalizer writers"
        ));
    }
    warnings
}
