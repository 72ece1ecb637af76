//! A defined kind in all its versions: schemas, rules and columns compiled once, when its definition is written.

use std::sync::Arc;

use kubewright_store::{ResourceId, Revision};
use kubewright_structural::crd::{Conversion, Definition, Version};
use kubewright_structural::schema::{Scale, Schema};
use kubewright_tables::custom::Columns;
use serde_json::{Value, json};

/// A kind as its definition says, ready to serve.
pub(crate) struct CustomKind {
    pub(crate) definition: Definition,
    pub(crate) table: ResourceId,
    /// When the definition was written.
    pub(crate) revision: Revision,
    /// In the order of the definition's versions.
    compiled: Vec<CompiledVersion>,
}

/// What a version of a definition was compiled to.
pub(crate) struct CompiledVersion {
    /// Versions with the same schema share it.
    pub(crate) schema: Arc<Schema>,
    pub(crate) scale: Option<Scale>,
    pub(crate) columns: Arc<Columns>,
    /// What the schema was compiled from.
    source: Option<Arc<Value>>,
    /// The version and since when it has this schema and these selectable fields: what a record stored in it is marked
    /// with. A record with this mark has been pruned and defaulted by this schema, and keeps the values of these fields.
    pub(crate) mark: Box<str>,
}

impl CompiledVersion {
    /// Whether the mark tells of a moment up to `revision`. One that tells of a later moment does not belong to a definition of then.
    fn is_marked_until(&self, revision: Revision) -> bool {
        let since = self.mark.rsplit(' ').next().and_then(|since| since.parse().ok());
        since.is_some_and(|since: u64| since <= revision.0)
    }
}

impl CustomKind {
    /// Compiles a definition that was written at `revision`; what did not change is taken from `before`, which may be the kind of a later
    /// definition, too.
    pub(crate) fn new(
        definition: Definition,
        table: ResourceId,
        revision: Revision,
        before: Option<&CustomKind>,
    ) -> CustomKind {
        let preserve = definition.preserve_unknown_fields;
        let before = before.filter(|before| before.definition.preserve_unknown_fields == preserve);
        let mut compiled: Vec<CompiledVersion> = Vec::with_capacity(definition.versions.len());
        for version in &definition.versions {
            let known = before.into_iter().flat_map(|before| &before.compiled).chain(&compiled);
            let schema = known
                .filter(|compiled| compiled.source == version.schema)
                .map(|compiled| Arc::clone(&compiled.schema))
                .next()
                .unwrap_or_else(|| {
                    let source = version.schema.as_deref().unwrap_or(&Value::Null);
                    Arc::new(Schema::compile(source, preserve))
                });
            let unchanged = before
                .and_then(|before| {
                    let at = before.position(&version.name)?;
                    let same_fields = before.definition.versions[at].selectable_fields == version.selectable_fields;
                    same_fields.then(|| &before.compiled[at])
                })
                .filter(|compiled| Arc::ptr_eq(&compiled.schema, &schema) && compiled.is_marked_until(revision));
            compiled.push(CompiledVersion {
                mark: unchanged.map_or_else(
                    || format!("{} {revision}", version.name).into(),
                    |compiled| compiled.mark.clone(),
                ),
                schema,
                scale: version.scale.clone(),
                columns: Arc::new(columns(version)),
                source: version.schema.clone(),
            });
        }
        CustomKind {
            definition,
            table,
            revision,
            compiled,
        }
    }

    /// The version at a position of the definition.
    pub(crate) fn compiled(&self, at: usize) -> &CompiledVersion {
        &self.compiled[at]
    }

    /// Where the version of this name stands.
    pub(crate) fn position(&self, version: &str) -> Option<usize> {
        self.definition.versions.iter().position(|known| known.name == version)
    }

    /// The version objects are stored in.
    pub(crate) fn storage(&self) -> Option<usize> {
        self.definition.versions.iter().position(|version| version.storage)
    }

    /// What the definition says of the webhook that converts its objects, if one does (C12).
    pub(crate) fn webhook(&self) -> Option<&Value> {
        match &self.definition.conversion {
            Conversion::Webhook(stanza) => Some(stanza),
            Conversion::None => None,
        }
    }

    /// Group and version of the version at a place of the definition.
    pub(crate) fn api_version(&self, at: usize) -> String {
        format!("{}/{}", self.definition.group, self.definition.versions[at].name)
    }

    /// Whether clients that watch would see other objects than `before` gave them.
    pub(crate) fn serves_like(&self, before: &CustomKind) -> bool {
        let served = |kind: &CustomKind| -> Vec<(String, bool, Option<Arc<Value>>)> {
            let versions = kind.definition.versions.iter();
            versions
                .map(|version| (version.name.clone(), version.served, version.schema.clone()))
                .collect()
        };
        self.definition.names == before.definition.names && served(self) == served(before)
    }
}

fn columns(version: &Version) -> Columns {
    let columns: Vec<Value> = version
        .columns
        .iter()
        .map(|column| {
            json!({
                "name": column.name,
                "type": column.kind,
                "format": column.format,
                "description": column.description,
                "priority": column.priority,
                "jsonPath": column.json_path,
            })
        })
        .collect();
    Columns::new(&Value::Array(columns))
}
