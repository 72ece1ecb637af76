//! An object as its `autoscaling/v1` Scale, and a Scale written into its object.

use http::StatusCode;
use kubewright_apimachinery::field::Errors;
use kubewright_kinds::meta;
use kubewright_kinds::workloads::scale;
use serde_json::Value;

use crate::object::{meta_text, set_meta};
use crate::registry::Resource;
use crate::wire::status::{Result, Status};

/// A Scale that a client wrote, for the webhooks that are shown it.
pub(crate) struct ScaleWrite {
    pub(crate) wanted: Value,
    /// The Scale of the live object.
    pub(crate) live: Value,
}

/// Refuses a Scale that cannot be. The rules of a custom resource find what is wrong with its replicas.
pub(crate) fn check(resource: &Resource, wanted: &Value) -> Result<()> {
    let mut errors = Errors::new();
    if resource.custom().is_none() {
        meta::validate_create_generic(&wanted["metadata"], true, &mut errors);
        scale::validate(wanted, &mut errors);
    }
    if errors.is_empty() {
        return Ok(());
    }
    let name = meta_text(wanted, "name");
    Err(Status::invalid("autoscaling", "Scale", name, &errors))
}

/// Stands for replicas that were never set, so that a patch which does not set them is found out.
pub(crate) const UNSET: i32 = i32::MIN;

/// The Scale of an object: of a workload, or of a custom resource whose definition says where its parts are (C10).
pub(crate) fn of(resource: &Resource, object: &Value) -> Result<Value> {
    let Some(paths) = resource.scale_paths() else {
        return Ok(scale::of(object));
    };
    let scaled = paths
        .read(object)
        .map_err(|why| Status::new(StatusCode::INTERNAL_SERVER_ERROR, "", why))?;
    Ok(scale::from_parts(
        object,
        scaled.wanted.unwrap_or_default().into(),
        scaled.observed.into(),
        &scaled.selector,
    ))
}

/// Writes a Scale's replicas and resourceVersion into the object it is of.
pub(crate) fn write_into(resource: &Resource, wanted: &Value, object: &mut Value) -> Result<()> {
    let Some(paths) = resource.scale_paths() else {
        scale::apply(wanted, object);
        return Ok(());
    };
    let replicas = wanted.pointer("/spec/replicas").and_then(Value::as_i64).unwrap_or(0);
    if replicas == i64::from(UNSET) {
        let path = kubewright_apimachinery::go::quote(&paths.spec_replicas_path);
        return Err(Status::bad_request(format!(
            "the spec replicas field {path} cannot be empty"
        )));
    }
    paths
        .write(object, replicas)
        .map_err(|why| Status::new(StatusCode::INTERNAL_SERVER_ERROR, "", why))?;
    let version = meta_text(wanted, "resourceVersion").to_owned();
    if !version.is_empty() {
        set_meta(object, "resourceVersion", version);
    }
    Ok(())
}
