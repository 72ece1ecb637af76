//! What a write answers: the object as it is now, in the version of the path.

use std::borrow::Cow;

use http::StatusCode;
use serde_json::Value;

use crate::registry::Resource;
use crate::request::call::Call;
use crate::wire::respond::{Reply, text_of};
use crate::wire::status::Result;
use crate::write::Written;

/// The answer to a write.
pub(crate) async fn reply(call: &Call<'_>, written: Written) -> Result<Reply> {
    match written {
        Written::Created(record) => call.reply_record(StatusCode::CREATED, &record).await,
        Written::Updated(record) => call.reply_record(StatusCode::OK, &record).await,
        Written::Deleted(object) => Ok(value_reply(call, StatusCode::OK, object)),
        Written::Dry { object, created } => {
            let code = if created { StatusCode::CREATED } else { StatusCode::OK };
            Ok(value_reply(call, code, object))
        }
    }
}

fn value_reply(call: &Call<'_>, code: StatusCode, mut object: Value) -> Reply {
    call.resource().to_served(&mut object);
    Reply::new(code, text_of(&object))
}

/// A live object in the version of the path.
pub(crate) fn at_version<'v>(resource: &Resource, live: &'v Value) -> Cow<'v, Value> {
    if resource.conversion().is_none() {
        return Cow::Borrowed(live);
    }
    let mut live = live.clone();
    resource.to_served(&mut live);
    Cow::Owned(live)
}
