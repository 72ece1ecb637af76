//! Subresources that are more than a part of their object: scale, binding, eviction, log, token — and the kinds that are
//! only ever answered, such as reviews. `status`, `finalize`, `approval` and the like go the way of the object itself.

mod binding;
mod eviction;
mod log;
mod scale;
mod token;

use http::StatusCode;

use crate::call::Call;
use crate::route::Verb;
use crate::server::Answer;
use crate::status::{Result, Status};

/// Answers a request that its verb alone cannot answer; `None` for all others.
pub(crate) fn answer(call: &mut Call<'_>, verb: Verb) -> Result<Option<Answer>> {
    let resource = call.resource();
    if call.target.subresource.is_empty() {
        return match (resource.is_stored(), &*resource.group, &*resource.plural, verb) {
            (true, ..) => Ok(None),
            (false, "", "bindings", Verb::Create) => binding::create(call).map(Some),
            _ => Err(unsupported(call)),
        };
    }
    match (call.target.subresource.as_str(), verb) {
        ("scale", Verb::Get) => scale::get(call).map(Some),
        ("scale", Verb::Update) => scale::update(call).map(Some),
        ("scale", Verb::Patch) => scale::patch(call).map(Some),
        ("binding", Verb::Create) => binding::create(call).map(Some),
        ("eviction", Verb::Create) => eviction::create(call).map(Some),
        ("token", Verb::Create) => token::create(call).map(Some),
        ("log", Verb::Get) => log::get(call).map(Some),
        ("status" | "finalize" | "approval" | "ephemeralcontainers" | "resize", _) => Ok(None),
        _ => Err(unsupported(call)),
    }
}

/// What needs a node, of which the embedded server has none, or an authorizer, which comes later.
fn unsupported(call: &Call<'_>) -> Box<Status> {
    let name = match call.target.subresource.as_str() {
        "" => call.resource().plural.to_string(),
        part => format!("{}/{part}", call.resource().plural),
    };
    let message = format!("{name} is not supported by the embedded API server");
    Status::new(StatusCode::NOT_IMPLEMENTED, "NotImplemented", message)
}
