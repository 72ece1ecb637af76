//! The object in a request must be the one its path names (H4): its namespace, its name, its uid.

use serde_json::Value;

use crate::object::{meta_text, remove_meta, set_meta};
use crate::request::call::Call;
use crate::wire::status::{Result, Status};

/// The object belongs into the namespace of the path, and may say so (H4).
pub(crate) fn place_in_namespace(call: &Call<'_>, object: &mut Value) -> Result<()> {
    let target = call.target;
    let expected = if target.resource.namespaced {
        target.namespace
    } else {
        ""
    };
    let given = meta_text(object, "namespace");
    if given == expected {
        return Ok(());
    }
    if given.is_empty() {
        set_meta(object, "namespace", expected);
        return Ok(());
    }
    // A cluster-scoped object loses the namespace that its manifest names.
    if expected.is_empty() {
        remove_meta(object, "namespace");
        return Ok(());
    }
    Err(Status::bad_request(
        "the namespace of the provided object does not match the namespace sent on the request",
    ))
}

/// The name in the body must be the one in the path (H4).
pub(crate) fn check_name(call: &Call<'_>, object: &Value) -> Result<()> {
    check_is_named(object, call.target.name)
}

/// The object must have this name.
pub(crate) fn check_is_named(object: &Value, expected: &str) -> Result<()> {
    let given = meta_text(object, "name");
    if given.is_empty() {
        return Err(undeterminable(expected));
    }
    if given != expected {
        return Err(Status::bad_request(format!(
            "the name of the object ({given}) does not match the name on the URL ({expected})"
        )));
    }
    Ok(())
}

/// The refusal of an object without a name, of which the path has this one.
pub(crate) fn undeterminable(name: &str) -> Box<Status> {
    Status::bad_request(format!(
        "the name of the object ({name} based on URL) was undeterminable: name must be provided"
    ))
}

/// A uid in the body must be that of the stored object (M3, M10).
pub(crate) fn check_uid(call: &Call<'_>, object: &Value, live: Option<&Value>, dry_run: bool) -> Result<()> {
    let (wanted, found) = (meta_text(object, "uid"), live.map_or("", |live| meta_text(live, "uid")));
    if wanted.is_empty() || wanted == found {
        return Ok(());
    }
    // A dry run does not get as far as the root of the storage.
    let root = if dry_run { "" } else { "/registry" };
    let why = format!(
        "StorageError: invalid object, Code: 4, Key: {root}/{}/{}, ResourceVersion: 0, AdditionalErrorMsg: \
         Precondition failed: UID in precondition: {wanted}, UID in object meta: {found}",
        call.resource().storage_path(),
        call.key()
    );
    Err(Status::conflict(call.resource().about(), call.target.name, &why))
}
