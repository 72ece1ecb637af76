//! Subresources that are more than a part of their object: scale, binding, eviction, log, token, connections — and the kinds that are
//! only ever answered, such as reviews. `status`, `finalize`, `approval` and the like go the way of the object itself.

mod binding;
mod body_kind;
mod connect;
mod eviction;
mod life;
mod log;
mod proxy;
mod reviews;
pub(crate) mod scale;
mod selectors;
mod token;

use http::StatusCode;

use self::reviews::ReviewSubject;
use crate::registry::{BuiltInId, Subresource, Verb};
use crate::request::HandlerOutput;
use crate::request::call::Call;
use crate::wire::status::{Result, Status};

/// Answers a request that its verb alone cannot answer; `None` for all others.
pub(crate) async fn answer(call: &mut Call<'_>, verb: Verb) -> Result<Option<HandlerOutput>> {
    let resource = call.resource();
    let Some(subresource) = call.target.subresource else {
        return match (resource.is_stored(), resource.id(), verb) {
            (true, ..) => Ok(None),
            (false, Some(id), Verb::Create) => posted(call, id).await.map(Some),
            _ => Err(unsupported(call)),
        };
    };
    match (subresource, verb) {
        (Subresource::Scale, Verb::Get) => scale::get(call).await.map(Some),
        (Subresource::Scale, Verb::Update) => scale::update(call).await.map(Some),
        (Subresource::Scale, Verb::Patch) => scale::patch(call).await.map(Some),
        (Subresource::Binding, Verb::Create) => binding::create(call).await.map(Some),
        (Subresource::Eviction, Verb::Create) => eviction::create(call).await.map(Some),
        (Subresource::Token, Verb::Create) => token::create(call).await.map(Some),
        (Subresource::Log, Verb::Get) => log::get(call).map(Some),
        (
            Subresource::Status
            | Subresource::Finalize
            | Subresource::Approval
            | Subresource::EphemeralContainers
            | Subresource::Resize,
            _,
        ) => Ok(None),
        (Subresource::Exec | Subresource::Attach | Subresource::PortForward, _) if resource.is(BuiltInId::Pods) => {
            connect::check_options(call, subresource)?;
            body_kind::admit_connection(call).await?;
            connect::connect(call, subresource).await.map(Some)
        }
        (Subresource::Proxy, _) => {
            body_kind::admit_connection(call).await?;
            proxy::answer(call).await.map(Some)
        }
        _ => Err(unsupported(call)),
    }
}

/// Answers what is posted to a resource that keeps no objects: bindings and reviews.
async fn posted(call: &mut Call<'_>, id: BuiltInId) -> Result<HandlerOutput> {
    match id {
        BuiltInId::Bindings => binding::create(call).await,
        BuiltInId::SubjectAccessReviews => reviews::access(call, ReviewSubject::Anybody).await,
        BuiltInId::LocalSubjectAccessReviews => reviews::access(call, ReviewSubject::AnybodyInNamespace).await,
        BuiltInId::SelfSubjectAccessReviews => reviews::access(call, ReviewSubject::Requester).await,
        BuiltInId::SelfSubjectRulesReviews => reviews::rules(call).await,
        BuiltInId::TokenReviews => reviews::token(call).await,
        BuiltInId::SelfSubjectReviews => reviews::myself(call).await,
        _ => Err(unsupported(call)),
    }
}

/// What needs a node, of which the embedded server has none.
fn unsupported(call: &Call<'_>) -> Box<Status> {
    let name = match call.target.subresource {
        None => call.resource().plural.to_string(),
        Some(part) => format!("{}/{}", call.resource().plural, part.name()),
    };
    let message = format!("{name} is not supported by the embedded API server");
    Status::new(StatusCode::NOT_IMPLEMENTED, "NotImplemented", message)
}
