//! Finds the Rust type and field that an API server's message about a definition is about.

use kubewright_description::Description;

use super::kinds;
use crate::Location;
use crate::schema::{PathSegment, field_path, find_type};

/// The type and field that the field of a cause means, in the definition of that name as [`super::render`] writes it.
///
/// ```
/// use kube::CustomResource;
/// use kubewright_manifests::definitions::locate;
/// use kubewright_runtime::operator::Operator;
/// use schemars::JsonSchema;
/// use serde::{Deserialize, Serialize};
///
/// #[derive(CustomResource, JsonSchema, Serialize, Deserialize, Clone, Debug)]
/// #[kube(group = "example.com", version = "v1", kind = "Tree", namespaced)]
/// struct TreeSpec {
///     names: Vec<String>,
/// }
///
/// let operator = Operator::new("forest").resource::<Tree>().describe();
/// let cause = "spec.versions[0].schema.openAPIV3Schema.properties[spec].properties[names].items.pattern";
/// let location = locate("trees.example.com", cause, &operator).unwrap();
/// assert_eq!(location.field.as_deref(), Some("spec.names[]"));
/// assert_eq!(location.field_ty.as_deref(), Some("TreeSpec"));
/// assert_eq!(location.keyword.as_deref(), Some("pattern"));
/// ```
pub fn locate(definition: &str, cause: &str, operator: &Description) -> Option<Location> {
    let kind = kinds(operator).into_iter().find(|kind| {
        let first = kind.versions.first();
        first.is_some_and(|first| definition == format!("{}.{}", first.plural, first.group))
    })?;
    let mut rest = Segments(cause);
    // About a definition whose versions all have the same schema, a server reports `spec.validation`.
    let mut version = kind.versions.first()?;
    if rest.child("spec") && rest.child("versions") {
        version = kind.versions.get(rest.key()?.parse::<usize>().ok()?)?;
    } else {
        rest = Segments(cause);
        rest.child("spec");
        rest.child("validation");
    }
    let of_schema = rest.child("schema") | rest.child("openAPIV3Schema");
    let segments = if of_schema { rest.segments() } else { Vec::new() };
    let found = find_type(&version.schema, &segments);
    Some(Location {
        ty: Some(version.ty.clone()),
        version: Some(version.version.clone()),
        field: of_schema
            .then(|| field_path(&segments))
            .filter(|field| !field.is_empty()),
        field_ty: found.ty,
        source: found.source,
        keyword: Some(rest.0.trim_start_matches('.').to_owned()).filter(|rest| !rest.is_empty()),
    })
}

/// The rest of a field path of a server: names after dots, keys and indexes in brackets.
struct Segments<'p>(&'p str);

impl<'p> Segments<'p> {
    /// Takes a name off, if it is the next one.
    fn child(&mut self, name: &str) -> bool {
        let rest = self.0.strip_prefix('.').unwrap_or(self.0);
        match rest.strip_prefix(name) {
            Some(behind) if behind.is_empty() || behind.starts_with(['.', '[']) => {
                self.0 = behind;
                true
            }
            _ => false,
        }
    }

    /// Takes a key off, if that is next. A key may hold brackets of its own.
    fn key(&mut self) -> Option<&'p str> {
        let rest = self.0.strip_prefix('[')?;
        let closes = |at: &usize| matches!(rest.as_bytes().get(at + 1), None | Some(b'.' | b'['));
        let end = rest.match_indices(']').map(|(at, _)| at).find(closes)?;
        self.0 = &rest[end + 1..];
        Some(&rest[..end])
    }

    /// Takes everything off that leads from one schema into another.
    fn segments(&mut self) -> Vec<PathSegment> {
        let mut segments = Vec::new();
        loop {
            let before = self.0;
            if self.child("properties") {
                let Some(name) = self.key() else {
                    self.0 = before;
                    return segments;
                };
                segments.push(PathSegment::Field(name.to_owned()));
            } else if self.child("items") {
                segments.push(PathSegment::Item);
            } else if self.child("additionalProperties") {
                segments.push(PathSegment::Value);
            } else if ["allOf", "oneOf", "anyOf"].iter().any(|choice| self.child(choice)) {
                // Alternatives restrict fields that are declared outside of them.
                if self.key().is_none() {
                    self.0 = before;
                    return segments;
                }
            } else if !self.child("not") {
                return segments;
            }
        }
    }
}
