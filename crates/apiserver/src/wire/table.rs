//! Tables: what a reader of columns gets instead of objects (H7).

use jiff::Timestamp;
use kubewright_tables::{IncludeObject, ListMeta, PrintError, Printer, Table, TableVersion};
use serde_json::Value;

use crate::object;
use crate::registry::{Resource, ResourceOrigin, name_of};
use crate::request::route::Target;
use crate::wire::negotiate::{Output, View};
use crate::wire::query::Query;
use crate::wire::respond::Reply;
use crate::wire::status::{Result, Status};

/// What prints a resource or a part of it; `None` when it offers no Tables.
pub(crate) fn printer(target: &Target<'_>) -> Option<Printer> {
    match &target.resource.origin {
        ResourceOrigin::BuiltIn(_) => {
            let resource = &target.resource;
            Printer::builtin(&resource.group, &resource.plural, name_of(target.subresource))
        }
        ResourceOrigin::Custom(version) => Some(version.printer(target.subresource)),
    }
}

/// The Table a request asks for, if it asks for one.
pub(crate) fn wanted(target: &Target<'_>, output: Output, query: &Query) -> Result<Option<Table>> {
    let View::Table { version } = output.view else {
        return Ok(None);
    };
    let include = IncludeObject::parse(query.text("includeObject"))
        .map_err(|invalid| Status::bad_request(invalid.to_string()))?;
    let version = if version == "v1" {
        TableVersion::V1
    } else {
        TableVersion::V1beta1
    };
    Ok(printer(target).map(|printer| Table {
        printer,
        version,
        include,
    }))
}

/// An answer as a Table, where that is wanted. A Status stays what it is.
pub(crate) fn print(target: &Target<'_>, output: Output, query: &Query, reply: Reply, now: Timestamp) -> Result<Reply> {
    if reply.is_table {
        return Ok(reply);
    }
    let Some(table) = wanted(target, output, query)? else {
        return Ok(reply);
    };
    let resource = &target.resource;
    let mut value = object::parsed(&reply.json);
    if value.get("kind").and_then(Value::as_str) == Some("Status") {
        return Ok(reply);
    }
    let mut text = Vec::with_capacity(reply.json.len());
    match value.get_mut("items").map(Value::take) {
        Some(Value::Array(items)) => {
            let metadata = &value["metadata"];
            let words = |key: &str| metadata.get(key).and_then(Value::as_str).unwrap_or_default();
            let meta = ListMeta {
                resource_version: words("resourceVersion"),
                continue_token: words("continue"),
                remaining_item_count: metadata.get("remainingItemCount").and_then(Value::as_u64),
            };
            let objects = items.into_iter().map(|item| whole(resource, item));
            table.write_list(&mut text, &meta, objects, now).map_err(refusal)?;
        }
        _ => table.write_object(&mut text, &value, true, now).map_err(refusal)?,
    }
    Ok(Reply::new(reply.code, text))
}

/// An item of a list with its type, which lists of built-ins leave out.
fn whole(resource: &Resource, mut item: Value) -> Value {
    if let Some(object) = item.as_object_mut()
        && !object.contains_key("kind")
    {
        object.insert("kind".into(), (*resource.kind).into());
        object.insert("apiVersion".into(), resource.api_version.as_str().into());
    }
    item
}

#[expect(clippy::needless_pass_by_value, reason = "the shape of map_err")]
pub(crate) fn refusal(error: PrintError) -> Box<Status> {
    Status::internal(&error.to_string())
}
