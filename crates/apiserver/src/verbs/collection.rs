//! `deletecollection`: everything that the selectors mean (D6).

use http::StatusCode;

use super::delete::{delete_one, warn_of_orphans};
use super::list;
use crate::request::call::Call;
use crate::request::delete_options::DeleteOptions;
use crate::request::list_options::ListOptions;
use crate::wire::respond::Reply;
use crate::wire::status::{Result, Status};

pub(crate) async fn delete(call: &mut Call<'_>) -> Result<Reply> {
    let list_options = ListOptions::parse(call.query, call.target, false)?;
    let options = DeleteOptions::parse(call)?;
    warn_of_orphans(call, &options);
    let (records, reply) = list::page(call, &list_options).await?;
    if call.target.lacks_namespace && !records.is_empty() {
        return Err(Status::namespace_required());
    }
    for record in &records {
        let namespace = record.namespace().unwrap_or_default();
        match delete_one(call, namespace, record.name(), &options).await {
            Ok(_) => {}
            // Another request deleted it first.
            Err(status) if status.code == StatusCode::NOT_FOUND => {}
            Err(status) => return Err(status),
        }
    }
    Ok(reply)
}
