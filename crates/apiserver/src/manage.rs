//! Who owns which field: the bridge between a resource and `merge`'s server-side apply (S2, S11, S12).

use std::sync::Arc;

use kubewright_merge::{self as merge, ApplyError, ConversionError, FieldFilter, FieldManager, Versions};
use serde_json::Value;

use crate::convert;
use crate::place::Place;
use crate::registry::{Registry, Resource, Subresource, name_of};
use crate::status::{Cause, Details, Status};

/// A resource in all its versions, as one endpoint sees it.
pub(crate) struct Kind<'r> {
    resource: &'r Resource,
    filter: Option<FieldFilter>,
}

impl<'r> Kind<'r> {
    pub(crate) fn new(resource: &'r Resource, subresource: Option<Subresource<'_>>) -> Self {
        let paths: Vec<String> = resource
            .strategy()
            .reset_paths(subresource.map(Subresource::name))
            .iter()
            .map(|path| path.join("."))
            .collect();
        let filter =
            (!paths.is_empty()).then(|| FieldFilter::exclude(&paths.iter().map(String::as_str).collect::<Vec<_>>()));
        Kind { resource, filter }
    }

    /// A built-in in another version.
    fn at(&self, api_version: &str) -> Option<&'static Arc<Resource>> {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        Registry::builtin()
            .find(group, version, &self.resource.plural)
            .filter(|found| found.table == self.resource.table)
    }
}

impl<'r> Versions<'r> for Kind<'r> {
    type Topology = Place<'r>;

    fn topology(&self, api_version: &str) -> Option<Place<'r>> {
        match self.resource.custom() {
            Some(version) => version
                .schema_at(api_version)
                .map(|schema| Place::Custom(schema.place())),
            None => self.at(api_version)?.ty().map(Place::BuiltIn),
        }
    }

    fn convert(&self, object: &Value, api_version: &str) -> Result<Value, ConversionError> {
        let mut converted = object.clone();
        if let Some(version) = self.resource.custom() {
            version.convert(&mut converted, api_version)?;
        } else {
            let to = self.at(api_version).ok_or(ConversionError::MissingVersion)?;
            convert::between(&mut converted, to);
        }
        Ok(converted)
    }

    fn zero(&self, api_version: &str) -> Value {
        match self.resource.custom() {
            Some(_) => self.resource.zero().clone(),
            None => self
                .at(api_version)
                .map(|resource| resource.zero().clone())
                .unwrap_or_default(),
        }
    }

    /// The schema of a custom resource may have changed under it.
    fn may_be_malformed(&self) -> bool {
        self.resource.custom().is_some()
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

/// Who writes a resource through which endpoint, as managedFields record it.
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
    pub(crate) fn update(self, live: Option<&Value>, new: Value) -> Value {
        let kind = Kind::new(self.resource, self.subresource);
        merge::update(&kind, &self.field_manager(), live, new)
    }

    /// Merges an applied configuration onto the live object.
    pub(crate) fn apply(self, live: Option<&Value>, applied: &Value, force: bool) -> Result<Value, Box<Status>> {
        let kind = Kind::new(self.resource, self.subresource);
        merge::apply(&kind, &self.field_manager(), live, applied, force).map_err(refusal)
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
