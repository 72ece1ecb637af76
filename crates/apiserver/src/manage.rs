//! Who owns which field: the bridge between a resource and `merge`'s server-side apply (S2, S11, S12).

use kubewright_merge::{self as merge, ApplyError, ConversionError, FieldFilter, FieldManager, Versions};
use kubewright_schema::TypeRef;
use serde_json::Value;

use crate::convert;
use crate::registry::{Registry, Resource};
use crate::status::{Cause, Details, Status};

/// A resource in all its versions, as one endpoint sees it.
pub(crate) struct Kind {
    resource: &'static Resource,
    filter: Option<FieldFilter>,
}

impl Kind {
    pub(crate) fn new(resource: &'static Resource, subresource: &str) -> Self {
        let paths: Vec<String> = resource
            .strategy
            .reset_paths(Some(subresource).filter(|name| !name.is_empty()))
            .iter()
            .map(|path| path.join("."))
            .collect();
        let filter =
            (!paths.is_empty()).then(|| FieldFilter::exclude(&paths.iter().map(String::as_str).collect::<Vec<_>>()));
        Kind { resource, filter }
    }

    fn at(&self, api_version: &str) -> Option<&'static Resource> {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        Registry::builtin()
            .find(group, version, self.resource.plural)
            .filter(|found| found.table == self.resource.table)
    }
}

impl Versions<'static> for Kind {
    type Topology = TypeRef<'static>;

    fn topology(&self, api_version: &str) -> Option<TypeRef<'static>> {
        self.at(api_version).map(|resource| resource.ty)
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

/// Computes managedFields of what a create, PUT or patch is about to store.
pub(crate) fn update(
    resource: &'static Resource,
    subresource: &str,
    manager: &str,
    time: &str,
    live: Option<&Value>,
    new: Value,
) -> Value {
    let kind = Kind::new(resource, subresource);
    merge::update(&kind, &field_manager(resource, subresource, manager, time), live, new)
}

/// Merges an applied configuration onto the live object.
pub(crate) fn apply(
    resource: &'static Resource,
    subresource: &str,
    manager: &str,
    time: &str,
    live: Option<&Value>,
    applied: &Value,
    force: bool,
) -> Result<Value, Box<Status>> {
    let kind = Kind::new(resource, subresource);
    merge::apply(
        &kind,
        &field_manager(resource, subresource, manager, time),
        live,
        applied,
        force,
    )
    .map_err(refusal)
}

fn field_manager<'a>(resource: &'a Resource, subresource: &'a str, name: &'a str, time: &'a str) -> FieldManager<'a> {
    FieldManager {
        name,
        api_version: &resource.api_version,
        kind: resource.kind,
        subresource,
        time,
    }
}
