//! Subresources that are more than a part of their object: scale, binding, eviction, log, token — and the kinds that are
//! only ever answered, such as reviews. `status`, `finalize`, `approval` and the like go the way of the object itself.

mod binding;
mod eviction;
mod log;
mod part;
mod reviews;
pub(crate) mod scale;
mod selectors;
mod token;

use http::StatusCode;

use self::reviews::About;
use crate::call::Call;
use crate::route::Verb;
use crate::server::Answer;
use crate::status::{Result, Status};

/// Answers a request that its verb alone cannot answer; `None` for all others.
pub(crate) async fn answer(call: &mut Call<'_>, verb: Verb) -> Result<Option<Answer>> {
    let resource = call.resource();
    if call.target.subresource.is_empty() {
        return match (resource.is_stored(), &*resource.group, &*resource.plural, verb) {
            (true, ..) => Ok(None),
            (false, "", "bindings", Verb::Create) => binding::create(call).await.map(Some),
            (false, group, plural, Verb::Create) => match review(call, group, plural).await {
                Some(answer) => answer.map(Some),
                None => Err(unsupported(call)),
            },
            _ => Err(unsupported(call)),
        };
    }
    match (call.target.subresource.as_str(), verb) {
        ("scale", Verb::Get) => scale::get(call).await.map(Some),
        ("scale", Verb::Update) => scale::update(call).await.map(Some),
        ("scale", Verb::Patch) => scale::patch(call).await.map(Some),
        ("binding", Verb::Create) => binding::create(call).await.map(Some),
        ("eviction", Verb::Create) => eviction::create(call).await.map(Some),
        ("token", Verb::Create) => token::create(call).await.map(Some),
        ("log", Verb::Get) => log::get(call).map(Some),
        ("status" | "finalize" | "approval" | "ephemeralcontainers" | "resize", _) => Ok(None),
        _ => {
            part::admit_connection(call).await?;
            Err(unsupported(call))
        }
    }
}

/// Answers a review.
async fn review(call: &mut Call<'_>, group: &str, plural: &str) -> Option<Result<Answer>> {
    Some(match (group, plural) {
        ("authorization.k8s.io", "subjectaccessreviews") => reviews::access(call, About::Anybody).await,
        ("authorization.k8s.io", "localsubjectaccessreviews") => reviews::access(call, About::AnybodyHere).await,
        ("authorization.k8s.io", "selfsubjectaccessreviews") => reviews::access(call, About::Oneself).await,
        ("authorization.k8s.io", "selfsubjectrulesreviews") => reviews::rules(call).await,
        ("authentication.k8s.io", "tokenreviews") => reviews::token(call).await,
        ("authentication.k8s.io", "selfsubjectreviews") => reviews::myself(call).await,
        _ => return None,
    })
}

/// What needs a node, of which the embedded server has none.
fn unsupported(call: &Call<'_>) -> Box<Status> {
    let name = match call.target.subresource.as_str() {
        "" => call.resource().plural.to_string(),
        part => format!("{}/{part}", call.resource().plural),
    };
    let message = format!("{name} is not supported by the embedded API server");
    Status::new(StatusCode::NOT_IMPLEMENTED, "NotImplemented", message)
}
