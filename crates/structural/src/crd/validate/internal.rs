//! A spec in upstream's internal form: what all versions have in common is a field of the spec itself, which decides the
//! paths of its errors.

use serde_json::Value;

use super::printed::{self, json_text};
use crate::crd::access::{at, flag, list, text};

/// What versions may have in common.
const SHARED: [&str; 4] = ["schema", "subresources", "additionalPrinterColumns", "selectableFields"];

/// A spec with what its versions share moved to the top.
pub(super) struct Spec<'a> {
    /// The spec as it was sent.
    pub(super) sent: &'a Value,
    /// Its versions.
    pub(super) versions: &'a [Value],
    shared: [bool; 4],
}

impl<'a> Spec<'a> {
    pub(super) fn of(object: &'a Value) -> Spec<'a> {
        let spec = object.get("spec").unwrap_or(&Value::Null);
        let versions = list(spec, &["versions"]);
        Spec {
            sent: spec,
            versions,
            shared: SHARED.map(|field| {
                versions.first().is_some_and(|first| {
                    versions
                        .iter()
                        .all(|version| part(version, field) == part(first, field))
                })
            }),
        }
    }

    fn is_shared(&self, field: &str) -> bool {
        SHARED
            .iter()
            .zip(self.shared)
            .any(|(name, shared)| *name == field && shared)
    }

    /// What all versions share of a field.
    pub(super) fn top(&self, field: &str) -> Option<&'a Value> {
        self.versions
            .first()
            .filter(|_| self.is_shared(field))
            .and_then(|first| part(first, field))
    }

    /// What a version has of a field for itself.
    pub(super) fn own(&self, version: &'a Value, field: &str) -> Option<&'a Value> {
        if self.is_shared(field) {
            None
        } else {
            part(version, field)
        }
    }

    /// The name of the first version.
    pub(super) fn version(&self) -> &'a str {
        self.versions.first().map_or("", |first| text(first, &["name"]))
    }

    /// Every schema, once if it is shared.
    pub(super) fn schemas(&self) -> impl Iterator<Item = &'a Value> {
        let top = self.top("schema").into_iter();
        let own = self.versions.iter().filter_map(|version| self.own(version, "schema"));
        top.chain(own).filter_map(|schema| at(schema, &["openAPIV3Schema"]))
    }

    /// Whether both have a version of this name, with the same schema.
    pub(super) fn has_same_schema(&self, other: &Spec<'_>, name: &str) -> bool {
        match (self.find(name), other.find(name)) {
            (Some(version), Some(other)) => at(version, &["schema"]) == at(other, &["schema"]),
            _ => false,
        }
    }

    fn find(&self, name: &str) -> Option<&'a Value> {
        self.versions.iter().find(|version| text(version, &["name"]) == name)
    }

    /// The subresources that count for the version of this name.
    pub(super) fn subresources_of(&self, name: &str) -> Option<&'a Value> {
        if let Some(top) = self.top("subresources") {
            return Some(top);
        }
        self.own(self.find(name)?, "subresources")
    }

    /// The versions as an error shows them.
    pub(super) fn shown_versions(&self) -> String {
        match self.sent.get("versions") {
            Some(Value::Array(versions)) => {
                let versions: Vec<String> = versions.iter().map(|version| self.shown_version(version)).collect();
                format!("[{}]", versions.join(","))
            }
            _ => "null".to_owned(),
        }
    }

    fn shown_version(&self, version: &'a Value) -> String {
        let null = || "null".to_owned();
        let warning = at(version, &["deprecationWarning"]).map_or_else(null, printed::json);
        let schema = self.own(version, "schema").map_or_else(null, |schema| {
            let schema = at(schema, &["openAPIV3Schema"]).map_or_else(null, printed::schema);
            format!(r#"{{"OpenAPIV3Schema":{schema}}}"#)
        });
        format!(
            r#"{{"Name":{},"Served":{},"Storage":{},"Deprecated":{},"DeprecationWarning":{warning},"Schema":{schema},"Subresources":{},"AdditionalPrinterColumns":{},"SelectableFields":{}}}"#,
            json_text(text(version, &["name"])),
            flag(version, &["served"]),
            flag(version, &["storage"]),
            flag(version, &["deprecated"]),
            self.own(version, "subresources").map_or_else(null, shown_subresources),
            self.own(version, "additionalPrinterColumns")
                .map_or_else(null, shown_columns),
            self.own(version, "selectableFields").map_or_else(null, shown_fields),
        )
    }
}

/// A part of a version; an empty list is none.
fn part<'a>(version: &'a Value, field: &str) -> Option<&'a Value> {
    at(version, &[field]).filter(|part| part.as_array().is_none_or(|items| !items.is_empty()))
}

fn shown_subresources(subresources: &Value) -> String {
    let null = || "null".to_owned();
    let status = at(subresources, &["status"]).map_or_else(null, |_| "{}".to_owned());
    let scale = at(subresources, &["scale"]).map_or_else(null, |scale| {
        format!(
            r#"{{"SpecReplicasPath":{},"StatusReplicasPath":{},"LabelSelectorPath":{}}}"#,
            json_text(text(scale, &["specReplicasPath"])),
            json_text(text(scale, &["statusReplicasPath"])),
            at(scale, &["labelSelectorPath"]).map_or_else(null, printed::json),
        )
    });
    format!(r#"{{"Status":{status},"Scale":{scale}}}"#)
}

fn shown_columns(columns: &Value) -> String {
    let shown = |column: &Value| {
        let words = |field: &str| json_text(text(column, &[field]));
        format!(
            r#"{{"Name":{},"Type":{},"Format":{},"Description":{},"Priority":{},"JSONPath":{}}}"#,
            words("name"),
            words("type"),
            words("format"),
            words("description"),
            column.get("priority").and_then(Value::as_i64).unwrap_or_default(),
            words("jsonPath"),
        )
    };
    format!("[{}]", each(columns, shown))
}

fn shown_fields(fields: &Value) -> String {
    let shown = |field: &Value| format!(r#"{{"JSONPath":{}}}"#, json_text(text(field, &["jsonPath"])));
    format!("[{}]", each(fields, shown))
}

fn each(items: &Value, shown: impl Fn(&Value) -> String) -> String {
    let items: Vec<String> = items.as_array().into_iter().flatten().map(shown).collect();
    items.join(",")
}
