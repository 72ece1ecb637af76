//! Managed fields: applies `merge`'s server-side apply to resources (S2, S11, S12).

use std::cell::RefCell;
use std::sync::Arc;

use kubewright_merge::{self as merge, ApplyError, ConversionError, FieldFilter, FieldManager, Versions};
use kubewright_schema as schema;
use serde_json::{Map, Value};

use crate::custom;
use crate::custom::conversion::{ConversionCache, NeedsConversion, Unconverted, Unfinished};
use crate::object;
use crate::registry::convert;
use crate::registry::topology::ObjectTopology;
use crate::registry::{Registry, Resource, Subresource, name_of};
use crate::wire::status::{Cause, Details, Status};

/// A built-in resource in all its versions, as one endpoint sees it.
struct BuiltInKind<'r> {
    resource: &'r Resource,
    filter: Option<FieldFilter>,
}

/// A custom resource in all its versions, as one endpoint sees it.
struct CustomKind<'r> {
    version: &'r custom::Version,
    filter: Option<FieldFilter>,
    cache: &'r ConversionCache,
    /// What the merge needed and the cache did not have: its result does not count then.
    needed: RefCell<NeedsConversion>,
}

/// What an endpoint never owns.
fn filter(resource: &Resource, subresource: Option<Subresource<'_>>) -> Option<FieldFilter> {
    let reset = resource.strategy().reset_paths(subresource.map(Subresource::name));
    let paths: Vec<String> = reset.iter().map(|path| path.join(".")).collect();
    (!paths.is_empty()).then(|| FieldFilter::exclude(&paths.iter().map(String::as_str).collect::<Vec<_>>()))
}

impl BuiltInKind<'_> {
    fn at(&self, api_version: &str) -> Option<&'static Arc<Resource>> {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        Registry::builtin()
            .find(group, version, &self.resource.plural)
            .filter(|found| found.table == self.resource.table)
    }
}

impl<'r> Versions<'r> for BuiltInKind<'r> {
    type Topology = ObjectTopology<'r>;

    fn topology(&self, api_version: &str) -> Option<ObjectTopology<'r>> {
        self.at(api_version)?.ty().map(ObjectTopology::BuiltIn)
    }

    fn convert(&self, object: &Value, api_version: &str) -> Result<Value, ConversionError> {
        let to = self.at(api_version).ok_or(ConversionError::MissingVersion)?;
        let mut converted = object.clone();
        convert::between(&mut converted, to);
        Ok(converted)
    }

    fn zero(&self, api_version: &str) -> Value {
        self.at(api_version)
            .map(|resource| resource.zero().clone())
            .unwrap_or_default()
    }

    fn filter(&self, _api_version: &str) -> Option<&FieldFilter> {
        self.filter.as_ref()
    }
}

impl CustomKind<'_> {
    /// The result of a merge, unless the merge missed a conversion.
    fn finish<T>(self, merged: T) -> Result<T, Unfinished> {
        self.needed.into_inner().check().map(|()| merged)
    }
}

impl<'r> Versions<'r> for CustomKind<'r> {
    type Topology = ObjectTopology<'r>;

    fn topology(&self, api_version: &str) -> Option<ObjectTopology<'r>> {
        let schema = self.version.schema_at(api_version)?;
        Some(ObjectTopology::Custom(schema.topology()))
    }

    fn convert(&self, object: &Value, api_version: &str) -> Result<Value, ConversionError> {
        let converted = self.version.convert(object.clone(), api_version, self.cache);
        converted.map_err(|unconverted| match unconverted {
            Unconverted::MissingVersion => ConversionError::MissingVersion,
            Unconverted::Failed(why) => ConversionError::Failed(why),
            Unconverted::Needed(needed) => {
                self.needed.borrow_mut().add(needed);
                ConversionError::Failed("the object has not been converted yet".to_owned())
            }
        })
    }

    fn zero(&self, _api_version: &str) -> Value {
        Value::Object(Map::new())
    }

    /// The schema of a custom resource may have changed under it.
    fn may_be_malformed(&self) -> bool {
        true
    }

    fn filter(&self, _api_version: &str) -> Option<&FieldFilter> {
        self.filter.as_ref()
    }
}

/// Refusals of an apply as the server answers them (E4).
pub(crate) fn refusal(error: ApplyError) -> Box<Status> {
    match error {
        ApplyError::Conflict(conflicts) => {
            let causes = conflicts
                .causes()
                .into_iter()
                .map(|cause| Cause {
                    reason: cause.reason.into(),
                    message: cause.message,
                    field: cause.field,
                })
                .collect();
            Status::new(http::StatusCode::CONFLICT, "Conflict", conflicts.message()).with_details(Details {
                causes,
                ..Details::default()
            })
        }
        ApplyError::BadRequest(message) => Status::bad_request(message),
        ApplyError::Failed(message) => Status::new(http::StatusCode::INTERNAL_SERVER_ERROR, "", message),
    }
}

/// The writer and the endpoint of a write, as managedFields record them.
#[derive(Clone, Copy)]
pub(crate) struct FieldWriter<'a> {
    pub(crate) resource: &'a Resource,
    pub(crate) subresource: Option<Subresource<'a>>,
    pub(crate) manager: &'a str,
    /// When, as RFC 3339.
    pub(crate) time: &'a str,
}

impl FieldWriter<'_> {
    /// Computes managedFields of what a create, PUT or patch is about to store.
    pub(crate) fn update(self, live: Option<&Value>, new: Value, cache: &ConversionCache) -> Result<Value, Unfinished> {
        match self.resource.custom() {
            None => Ok(self.update_built_in(live, new)),
            Some(version) => {
                let kind = self.custom_kind(version, cache);
                let merged = merge::update(&kind, &self.field_manager(), live, new);
                kind.finish(merged)
            }
        }
    }

    /// The same for an object of a built-in resource, which no webhook converts.
    pub(crate) fn update_built_in(self, live: Option<&Value>, new: Value) -> Value {
        let has_empties = self.resource.ty().is_some_and(|ty| schema::has_empties(ty, &new));
        if !has_empties {
            return merge::update(&self.built_in_kind(), &self.field_manager(), live, new);
        }
        // Fields are owned as they are encoded, but the object goes on with its empty lists and maps.
        let (mut encoded, mut new) = (new.clone(), new);
        object::leave_out_empties(self.resource, &mut encoded);
        // An empty list of owners takes all away that there are (S10).
        if let Some(owners) = new.pointer("/metadata/managedFields") {
            object::set_meta(&mut encoded, "managedFields", owners.clone());
        }
        let mut owned = merge::update(&self.built_in_kind(), &self.field_manager(), live, encoded);
        match owned
            .get_mut("metadata")
            .and_then(|metadata| metadata.get_mut("managedFields"))
        {
            Some(owners) => object::set_meta(&mut new, "managedFields", owners.take()),
            None => object::remove_meta(&mut new, "managedFields"),
        }
        new
    }

    /// Merges an applied configuration onto the live object.
    pub(crate) fn apply(
        self,
        live: Option<&Value>,
        applied: &Value,
        force: bool,
        cache: &ConversionCache,
    ) -> Result<Value, Unfinished> {
        let manager = self.field_manager();
        let merged = match self.resource.custom() {
            None => merge::apply(&self.built_in_kind(), &manager, live, applied, force),
            Some(version) => {
                let kind = self.custom_kind(version, cache);
                let merged = merge::apply(&kind, &manager, live, applied, force);
                kind.finish(merged)?
            }
        };
        merged.map_err(|error| refusal(error).into())
    }

    fn built_in_kind(&self) -> BuiltInKind<'_> {
        BuiltInKind {
            resource: self.resource,
            filter: filter(self.resource, self.subresource),
        }
    }

    fn custom_kind<'k>(&'k self, version: &'k custom::Version, cache: &'k ConversionCache) -> CustomKind<'k> {
        CustomKind {
            version,
            filter: filter(self.resource, self.subresource),
            cache,
            needed: RefCell::default(),
        }
    }

    fn field_manager(&self) -> FieldManager<'_> {
        FieldManager {
            name: self.manager,
            api_version: &self.resource.api_version,
            kind: &self.resource.kind,
            subresource: name_of(self.subresource),
            time: self.time,
        }
    }
}
