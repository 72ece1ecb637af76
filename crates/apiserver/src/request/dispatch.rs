//! The dispatch stage: from the verb of a request to what does it.

use http::Response;
use kubewright_apimachinery::go::quote;
use kubewright_apimachinery::names;

use crate::admit::Deadline;
use crate::registry::Verb;
use crate::request::call::Call;
use crate::request::route::Target;
use crate::subresource;
use crate::verbs;
use crate::webhook;
use crate::wire::body::Body;
use crate::wire::respond::Reply;
use crate::wire::status::{Result, Status};

/// What the handler of a verb or a subresource hands back.
pub(crate) enum HandlerOutput {
    /// An object, to be written as the client wants it.
    Reply(Reply),
    /// A response that is ready: a stream, or text.
    Response(Response<Body>),
}

impl From<Reply> for HandlerOutput {
    fn from(reply: Reply) -> Self {
        HandlerOutput::Reply(reply)
    }
}

/// A name in the path must be fit for a key of the storage, whatever its kind demands of it.
pub(crate) fn check_name(name: &str) -> Result<()> {
    let complaints = names::path_segment_name(name);
    if complaints.is_empty() {
        return Ok(());
    }
    Err(Status::bad_request(format!(
        "Name parameter invalid: {}: {}",
        quote(name),
        complaints.join(";")
    )))
}

/// Refuses what needs a namespace and has none.
pub(crate) fn check_namespace(target: &Target<'_>) -> Result<()> {
    if target.lacks_namespace && !target.name.is_empty() {
        return Err(Status::namespace_required());
    }
    Ok(())
}

/// Answers a request before its deadline where a conversion webhook, or rows that live elsewhere, may delay it. Admission checks the deadline itself.
pub(super) async fn in_time(call: &mut Call<'_>, verb: Verb) -> Result<HandlerOutput> {
    let resource = call.resource();
    let converts = resource
        .custom()
        .is_some_and(|version| version.kind.webhook().is_some());
    let waits = converts || call.server.mirror_of(resource).is_some();
    if !waits || verb == Verb::Watch {
        return dispatch(call, verb).await;
    }
    let deadline = *call.deadline.get_or_init(|| Deadline::of(call.server, call.query));
    let answer = tokio::time::timeout_at(deadline.at, dispatch(call, verb)).await;
    answer.unwrap_or_else(|_| Err(webhook::too_late(deadline)))
}

async fn dispatch(call: &mut Call<'_>, verb: Verb) -> Result<HandlerOutput> {
    // An update compares the name with the one in its body first.
    if verb != Verb::Update {
        check_name(call.target.name)?;
    }
    // A watch of one name does not need to know where it is.
    if !matches!(verb, Verb::Update | Verb::Watch) {
        check_namespace(call.target)?;
    }
    if let Some(mirror) = call.server.mirror_of(call.resource()) {
        mirror.refresh(call, verb).await?;
    }
    if let Some(answer) = subresource::answer(call, verb).await? {
        return Ok(answer);
    }
    Ok(match verb {
        Verb::Get => verbs::get::get(call).await?.into(),
        Verb::List => verbs::list::list(call).await?.into(),
        Verb::Watch => HandlerOutput::Response(verbs::watch::watch(call).await?),
        Verb::Create => verbs::create::create(call).await?.into(),
        Verb::Update => verbs::update::update(call).await?.into(),
        Verb::Patch => verbs::patch::patch(call).await?.into(),
        Verb::Delete => verbs::delete::delete(call).await?.into(),
        Verb::DeleteCollection => verbs::collection::delete(call).await?.into(),
    })
}
