//! A defined kind in all its versions: schemas, rules and columns compiled once, when its definition is written.

use std::sync::Arc;

use kubewright_store::{ResourceId, Revision};
use kubewright_structural::crd::{Conversion, Definition, Version};
use kubewright_structural::schema::{Scale, Schema};
use kubewright_tables::custom::Columns;
use serde_json::{Value, json};

/// A kind as its definition says, ready to serve.
pub(crate) struct Kind {
    pub(crate) definition: Definition,
    pub(crate) table: ResourceId,
    /// When the definition was written.
    pub(crate) revision: Revision,
    /// The versions' shapes, in the order of the definition's versions.
    shapes: Vec<Shape>,
}

/// What one version makes of its objects.
pub(crate) struct Shape {
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

impl Kind {
    /// Compiles a definition that was written at `revision`; what did not change is taken from `before`.
    pub(crate) fn new(definition: Definition, table: ResourceId, revision: Revision, before: Option<&Kind>) -> Kind {
        let preserve = definition.preserve_unknown_fields;
        let before = before.filter(|before| before.definition.preserve_unknown_fields == preserve);
        let mut shapes: Vec<Shape> = Vec::with_capacity(definition.versions.len());
        for version in &definition.versions {
            let known = before.into_iter().flat_map(|before| &before.shapes).chain(&shapes);
            let schema = known
                .filter(|shape| shape.source == version.schema)
                .map(|shape| Arc::clone(&shape.schema))
                .next()
                .unwrap_or_else(|| {
                    let source = version.schema.as_deref().unwrap_or(&Value::Null);
                    Arc::new(Schema::compile(source, preserve))
                });
            let unchanged = before
                .and_then(|before| {
                    let at = before.position(&version.name)?;
                    let same_fields = before.definition.versions[at].selectable_fields == version.selectable_fields;
                    same_fields.then(|| &before.shapes[at])
                })
                .filter(|shape| Arc::ptr_eq(&shape.schema, &schema));
            shapes.push(Shape {
                mark: unchanged.map_or_else(
                    || format!("{} {revision}", version.name).into(),
                    |shape| shape.mark.clone(),
                ),
                schema,
                scale: version.scale.clone(),
                columns: Arc::new(columns(version)),
                source: version.schema.clone(),
            });
        }
        Kind {
            definition,
            table,
            revision,
            shapes,
        }
    }

    /// The shape of the version at a place of the definition.
    pub(crate) fn shape(&self, at: usize) -> &Shape {
        &self.shapes[at]
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
    pub(crate) fn serves_like(&self, before: &Kind) -> bool {
        let served = |kind: &Kind| -> Vec<(String, bool, Option<Arc<Value>>)> {
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
