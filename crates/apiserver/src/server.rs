//! The server behind every door: its state, and the way of a request through the pipeline.

use std::panic::AssertUnwindSafe;
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt as _;
use http::{Request, Response, StatusCode};
use kubewright_kinds::rules::names;
use kubewright_store::{Limits, Revision, Store};
use kubewright_system::clock::Clock;
use kubewright_system::random::Random;

use crate::access::{Access, Admitted, Identity, User};
use crate::admit::{Deadline, Settings};
use crate::allocate::Allocations;
use crate::audit::{Notes, Trail, Working};
use crate::bootstrap;
use crate::call::Call;
use crate::custom::Definitions;
use crate::logs::Logs;
use crate::metrics::{Metrics, Observation};
use crate::openapi::Documents;
use crate::options::Options;
use crate::plain;
use crate::route::{self, Route, Verb};
use crate::status::{Result, Status};
use crate::subresource;
use crate::table;
use crate::timeout;
use crate::tokens::Signer;
use crate::verbs;
use crate::webhook::{self, Webhooks};
use crate::wire::body::Body;
use crate::wire::negotiate::{self, Offer, Output};
use crate::wire::query::Query;
use crate::wire::respond::{self, Reply};

/// The largest body a request may have (H10).
pub(crate) const MAX_BODY: usize = 3 * 1024 * 1024;
/// How long a read waits for a revision that is still to come (R7).
const WAIT_FOR_REVISION: Duration = Duration::from_secs(3);

/// An embedded Kubernetes API server. Clones are handles to the same server.
///
/// ```
/// use kubewright_apiserver::{ApiServer, Options, User};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let server = ApiServer::new(Options::new());
/// let get = |path: &str| http::Request::get(path).body(Default::default()).unwrap();
/// assert_eq!(server.handle(get("/api/v1/namespaces/default")).await.status(), 200);
/// assert_eq!(server.handle_as(None, get("/api/v1/namespaces/default")).await.status(), 403); // who is that?
///
/// // A list at a revision of the past, until the past is forgotten.
/// let before = server.revision();
/// let made = http::Request::post("/api/v1/namespaces").body(r#"{"metadata":{"name":"shop"}}"#.into()).unwrap();
/// assert_eq!(server.handle(made).await.status(), 201);
/// let past = format!("/api/v1/namespaces?resourceVersion={before}&resourceVersionMatch=Exact");
/// assert_eq!(server.handle(get(&past)).await.status(), 200);
/// server.compact();
/// assert_eq!(server.handle(get(&past)).await.status(), 410);
///
/// // A copy of the whole cluster goes its own way.
/// let fork = server.fork();
/// let gone = http::Request::delete("/api/v1/namespaces/default/configmaps/none").body(Default::default()).unwrap();
/// assert_eq!(fork.handle_as(Some(&User::admin()), gone).await.status(), 404);
/// # }
/// ```
#[derive(Clone)]
pub struct ApiServer {
    pub(crate) server: Arc<Server>,
}

/// The state of a server.
pub(crate) struct Server {
    /// This server, for what outlives a request.
    pub(crate) me: Weak<Server>,
    pub(crate) store: Store,
    pub(crate) clock: Clock,
    pub(crate) chance: Random,
    pub(crate) metrics: Metrics,
    pub(crate) allocate: Allocations,
    pub(crate) logs: Logs,
    pub(crate) signer: Signer,
    pub(crate) access: Access,
    pub(crate) audit: Trail,
    pub(crate) definitions: Definitions,
    pub(crate) webhooks: Webhooks,
    pub(crate) admission: Settings,
    pub(crate) documents: Documents,
    /// Where the first listener listens, which discovery tells.
    pub(crate) advertised: OnceLock<String>,
}

impl ApiServer {
    /// A server with the state every cluster begins with. Ready when this returns.
    #[expect(clippy::needless_pass_by_value, reason = "options are made for one server, in place")]
    pub fn new(options: Options) -> ApiServer {
        static BOOTSTRAP: OnceLock<Store> = OnceLock::new();
        let store = BOOTSTRAP.get_or_init(|| bootstrap::state(Limits::default())).fork();
        ApiServer::over(store, &options)
    }

    fn over(store: Store, options: &Options) -> ApiServer {
        let clock = match options.epoch {
            Some(epoch) => Clock::starting_at(epoch),
            None => Clock::system(),
        };
        let server = Arc::new_cyclic(|me| Server {
            me: me.clone(),
            allocate: Allocations::observing(&store),
            store,
            clock,
            chance: options.seed.map_or_else(Random::from_entropy, Random::seeded),
            metrics: Metrics::default(),
            logs: Logs::default(),
            signer: Signer::default(),
            access: Access::new(options),
            audit: Trail::new(options.audit_events),
            definitions: Definitions::default(),
            webhooks: Webhooks::default(),
            admission: options.admission,
            documents: Documents::default(),
            advertised: OnceLock::new(),
        });
        server.aggregate_roles();
        ApiServer { server }
    }

    /// An independent server with a copy of this one's state, at once whatever its size. It goes on with the same clock;
    /// its uids and names are other ones, and repeat themselves if this server's do.
    pub fn fork(&self) -> ApiServer {
        let server = &self.server;
        let store = server.store.fork();
        let fork = Arc::new_cyclic(|me| Server {
            me: me.clone(),
            // What a write that is still under way has reserved is not the fork's.
            allocate: Allocations::observing(&store),
            store,
            clock: server.clock,
            chance: server.chance.fork(),
            metrics: Metrics::default(),
            logs: server.logs.fork(),
            signer: server.signer.clone(),
            access: server.access.fork(),
            audit: server.audit.fork(),
            definitions: server.definitions.fork(),
            webhooks: server.webhooks.fork(),
            admission: server.admission,
            documents: Documents::default(),
            advertised: OnceLock::new(),
        });
        fork.settle_all();
        fork.webhooks.renew(&fork.store);
        ApiServer { server: fork }
    }

    /// Forgets the history before now: watches and lists at older revisions answer 410 (R5, R6, V3).
    pub fn compact(&self) {
        self.server.store.compact(self.server.store.revision());
    }

    /// The revision of the newest write.
    pub fn revision(&self) -> u64 {
        self.server.store.revision().0
    }

    /// Answers a request of the administrator, as the in-process door does.
    pub async fn handle(&self, request: Request<Bytes>) -> Response<Body> {
        self.answer(&Identity::admin(), request).await
    }

    /// Answers a request of `user`; of `None`, the headers may say who it is: a bearer token, or nothing, which makes it
    /// an anonymous one.
    pub async fn handle_as(&self, user: Option<&User>, request: Request<Bytes>) -> Response<Body> {
        let identity = user.map_or(Identity::Unknown, |user| Identity::Proven(Arc::new(user.clone())));
        self.answer(&identity, request).await
    }

    /// Answers a request of somebody a door knows.
    pub(crate) async fn answer(&self, identity: &Identity, request: Request<Bytes>) -> Response<Body> {
        let (parts, body) = request.into_parts();
        match self.admit(identity, &parts) {
            Ok(admitted) => self.carry_out(admitted, Request::from_parts(parts, body)).await,
            Err(response) => *response,
        }
    }

    /// Refuses a request that was let in but cannot be read.
    pub(crate) fn turn_away(&self, mut admitted: Admitted, mut response: Response<Body>) -> Response<Body> {
        if let Some(draft) = admitted.draft.take() {
            draft.finish(&self.server.audit, &mut response);
        }
        response
    }

    /// Answers a request that was let in.
    pub(crate) async fn carry_out(&self, mut admitted: Admitted, request: Request<Bytes>) -> Response<Body> {
        let server = &*self.server;
        let mut observation = server.metrics.observe();
        let notes = Notes::default();
        let working = admitted.draft.take().map(|mut draft| {
            draft.dry_run = request.method() == http::Method::DELETE && is_dry(request.body());
            Working::new(&server.audit, &notes, draft)
        });
        let answer = AssertUnwindSafe(server.answer(&admitted, request, &mut observation, &notes))
            .catch_unwind()
            .await;
        let mut response = answer.unwrap_or_else(|_| {
            let why = "This request caused apiserver to panic. Look in the logs for details.";
            respond::text(StatusCode::INTERNAL_SERVER_ERROR, why)
        });
        respond::warn(response.headers_mut(), &admitted.warnings);
        if let Some(working) = working {
            working.finish(&mut response);
        }
        server.metrics.finish(&observation, response.status());
        response
    }
}

/// Whether the options in a deletion's body ask for a dry run.
fn is_dry(options: &[u8]) -> bool {
    memchr::memmem::find(options, b"dryRun").is_some()
        && serde_json::from_slice::<serde_json::Value>(options)
            .is_ok_and(|options| options.pointer("/dryRun/0").is_some_and(|value| value == "All"))
}

impl std::fmt::Debug for ApiServer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ApiServer")
            .field("revision", &self.revision())
            .finish_non_exhaustive()
    }
}

impl Server {
    async fn answer(
        &self,
        admitted: &Admitted,
        request: Request<Bytes>,
        observation: &mut Observation<'_>,
        notes: &Notes,
    ) -> Response<Body> {
        let (mut parts, body) = request.into_parts();
        if parts.method == http::Method::HEAD {
            let route = route::route(&self.definitions.served(), parts.uri.path());
            let mut response = match route {
                // Upstream's handler of custom resources goes by the verb, which is that of a GET.
                Route::Resource(target) if target.resource.custom().is_some() => {
                    parts.method = http::Method::GET;
                    Box::pin(self.answer(admitted, Request::from_parts(parts, body), observation, notes)).await
                }
                _ => respond::refuse(&Status::method_not_allowed(), Output::JSON, &[]),
            };
            *response.body_mut() = Body::empty();
            return response;
        }
        let query = Query::parse(parts.uri.query());
        let path = parts.uri.path();
        let target = match route::route(&self.definitions.served(), path) {
            Route::Plain(path) => {
                observation.plain(&parts.method, &path);
                return plain::answer(self, &parts, &path, &query);
            }
            Route::UnknownResource => {
                return respond::refuse(&Status::no_such_path(), fallback(&parts.headers, &query), &[]);
            }
            Route::Resource(target) if admitted.may_mean(&target) => target,
            // What was allowed is not what the path turns out to mean.
            Route::Resource(_) => return respond::text(StatusCode::NOT_FOUND, "404 page not found\n"),
        };
        let fallback = fallback(&parts.headers, &query);
        let is_custom = target.resource.custom().is_some();
        if is_custom && target.all_namespaces && parts.method != http::Method::GET && !target.watch_prefix {
            let path = parts.uri.path().to_owned();
            return plain::answer(self, &parts, &path, &query);
        }
        let warnings: Vec<String> = target.resource.deprecation().map(str::to_owned).into_iter().collect();
        if is_custom && !target.resource.has_subresource(&target.subresource) {
            let status = Status::not_found(target.resource.about(), &target.name);
            return respond::refuse(&status, fallback, &warnings);
        }
        let Some(verb) = route::verb(&parts.method, &target, &query) else {
            // Upstream's router refuses a method of a built-in before anything is known of the kind.
            let warnings: &[String] = if is_custom { &warnings } else { &[] };
            return respond::refuse(&route::not_allowed(&parts.method, &target), fallback, warnings);
        };
        if !admitted.may_do(verb) {
            return respond::text(StatusCode::NOT_FOUND, "404 page not found\n");
        }
        observation.route(verb, &target);
        observation.refine(&parts.headers, &query);
        let listing = target.name.is_empty() && parts.method == http::Method::GET;
        let offer = Offer {
            watches: listing,
            tables: &|| table::printer(&target).is_some(),
            protobuf: !is_custom || target.subresource == "scale",
        };
        let output = match negotiate::output(&parts.headers, query.flag("pretty"), offer) {
            Ok(output) => output,
            Err(status) => return respond::refuse(&status, fallback, &warnings),
        };
        if body.len() > MAX_BODY {
            let message = format!("Request entity too large: limit is {MAX_BODY}");
            return respond::refuse(&Status::too_large(message), fallback, &warnings);
        }
        if let Err(why) = timeout::check(query.get("timeout"), verb) {
            let message = format!("invalid timeout specified in the request URL - {why}");
            return respond::refuse(&Status::bad_request(message), fallback, &warnings);
        }
        let deadline = OnceLock::new();
        let mut call = Call {
            server: self,
            user: &admitted.user,
            notes,
            deadline: &deadline,
            target: &target,
            query: &query,
            headers: &parts.headers,
            body,
            output,
            warnings,
            scale: None,
        };
        // How the answer is to look is a question only once there is one: a write that cannot be shown is still done.
        let answer = in_time(&mut call, verb).await.and_then(|answer| match answer {
            Answer::Reply(reply) => table::print(&target, output, &query, reply, self.clock.now()).map(Answer::Reply),
            ready @ Answer::Response(_) => Ok(ready),
        });
        match answer {
            Ok(Answer::Reply(reply)) => respond::respond(reply, output, &parts.headers, &call.warnings),
            Ok(Answer::Response(mut response)) => {
                respond::warn(response.headers_mut(), &call.warnings);
                response
            }
            Err(status) => respond::refuse(&status, fallback, &call.warnings),
        }
    }

    /// Waits until the store has reached a revision that a client knows of, within reason (R7, E6).
    pub(crate) async fn reach(&self, revision: Revision) -> Result<()> {
        if self.store.revision() >= revision {
            return Ok(());
        }
        let deadline = tokio::time::Instant::now() + WAIT_FOR_REVISION;
        while tokio::time::Instant::now() < deadline {
            tokio::time::sleep(Duration::from_millis(10)).await;
            if self.store.revision() >= revision {
                return Ok(());
            }
        }
        Err(Status::too_large_resource_version(revision.0, self.store.revision().0))
    }
}

/// How errors before negotiation are written.
fn fallback(headers: &http::HeaderMap, query: &Query) -> Output {
    negotiate::fallback(headers, query.flag("pretty"))
}

/// What a verb answers.
pub(crate) enum Answer {
    /// An object, to be written as the client wants it.
    Reply(Reply),
    /// A response that is ready: a stream, or text.
    Response(Response<Body>),
}

impl From<Reply> for Answer {
    fn from(reply: Reply) -> Self {
        Answer::Reply(reply)
    }
}

/// A name in the path must be fit for a key of the storage, whatever its kind demands of it.
pub(crate) fn check_name(name: &str) -> Result<()> {
    let complaints = names::path_segment_name(name);
    if complaints.is_empty() {
        return Ok(());
    }
    Err(Status::bad_request(format!(
        "Name parameter invalid: {name:?}: {}",
        complaints.join(";")
    )))
}

/// Answers a request, within its time where that depends on a webhook that converts. Those that admit mind it themselves.
async fn in_time(call: &mut Call<'_>, verb: Verb) -> Result<Answer> {
    let converts = call
        .resource()
        .custom()
        .is_some_and(|version| version.kind.webhook().is_some());
    if !converts || verb == Verb::Watch {
        return dispatch(call, verb).await;
    }
    let deadline = *call.deadline.get_or_init(|| Deadline::of(call.query));
    let answer = tokio::time::timeout_at(deadline.at, dispatch(call, verb)).await;
    answer.unwrap_or_else(|_| Err(webhook::too_late(deadline)))
}

async fn dispatch(call: &mut Call<'_>, verb: Verb) -> Result<Answer> {
    // An update compares the name with that in its body first.
    if verb != Verb::Update {
        check_name(&call.target.name)?;
    }
    if let Some(answer) = subresource::answer(call, verb).await? {
        return Ok(answer);
    }
    Ok(match verb {
        Verb::Get => verbs::get::get(call).await?.into(),
        Verb::List => verbs::list::list(call).await?.into(),
        Verb::Watch => Answer::Response(verbs::watch::watch(call).await?),
        Verb::Create => verbs::create::create(call).await?.into(),
        Verb::Update => verbs::update::update(call).await?.into(),
        Verb::Patch => verbs::patch::patch(call).await?.into(),
        Verb::Delete => verbs::delete::delete(call).await?.into(),
        Verb::DeleteCollection => verbs::collection::delete(call).await?.into(),
    })
}
