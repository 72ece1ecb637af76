//! `get`: one object (R1).

use http::StatusCode;

use crate::request::call::Call;
use crate::request::list_options::parse_revision;
use crate::wire::respond::Reply;
use crate::wire::status::Result;

pub(crate) async fn get(call: &Call<'_>) -> Result<Reply> {
    if let Some(revision) = parse_revision(call.query.text("resourceVersion"))? {
        call.server.wait_for_revision(revision).await?;
    }
    let record = call.existing()?;
    call.reply_record(StatusCode::OK, &record).await
}
