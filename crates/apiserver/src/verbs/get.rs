//! `get`: one object (R1).

use http::StatusCode;

use crate::call::Call;
use crate::list_options::parse_revision;
use crate::status::Result;
use crate::wire::respond::Reply;

pub(crate) async fn get(call: &Call<'_>) -> Result<Reply> {
    if let Some(revision) = parse_revision(call.query.text("resourceVersion"))? {
        call.server.reach(revision).await?;
    }
    let record = call.existing()?;
    call.reply_record(StatusCode::OK, &record).await
}
