//! The manager's writes in their order, each with an address, and the one of them that a plan disturbs.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::OnceLock;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response, StatusCode, header};
use http_body_util::BodyExt as _;
use kube::client::Body;
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;
use tower::{BoxError, Service};

use super::layer::{HttpResponse, failure, whole};
use super::request::ApiRequest;
use super::{Fault, Lag, Lateness, Traffic, WebhookTrouble};

/// How long a write takes while a cache may be behind.
const PAUSE: Duration = Duration::from_secs(1);
/// How long an answer is waited for that does not come.
pub(super) const TIMEOUT: Duration = Duration::from_secs(30);

/// Which write: the same address finds the same write in every run that is equal up to it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct WriteAddress {
    pub(crate) verb: String,
    /// With its group and its subresource: `deployments.apps/status`.
    pub(crate) resource: String,
    /// With its namespace if that is not the test's; `prefix*` of a generated name.
    pub(crate) name: String,
    /// How many-th write of this verb, resource and name in its step, from 1.
    pub(crate) nth: u64,
}

/// `create configmaps/x #1`
impl fmt::Display for WriteAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}/{} #{}", self.verb, self.resource, self.name, self.nth)
    }
}

impl WriteAddress {
    /// What a role must allow for it.
    pub(crate) fn right(&self) -> Right {
        Right {
            verb: self.verb.clone(),
            resource: self.resource.clone(),
        }
    }

    fn of(api_request: &ApiRequest, body: Option<&Value>, home: &str) -> Self {
        let named = |field: &str| {
            body.and_then(|body| body["metadata"][field].as_str())
                .filter(|text| !text.is_empty())
        };
        let name = match api_request.name.as_str() {
            "" => match (named("name"), named("generateName")) {
                (Some(name), _) => name.to_owned(),
                (None, Some(prefix)) => format!("{prefix}*"),
                (None, None) => "*".to_owned(),
            },
            name => name.to_owned(),
        };
        let name = match api_request.namespace.as_str() {
            "" => name,
            namespace if namespace == home => name,
            namespace => format!("{namespace}:{name}"),
        };
        WriteAddress {
            verb: api_request.verb.clone(),
            resource: resource_of(api_request),
            name,
            nth: 0,
        }
    }
}

/// A right, as a rule of a role has it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Right {
    pub(crate) verb: String,
    /// As in an address.
    pub(crate) resource: String,
}

impl Right {
    pub(crate) fn is_to_read(&self) -> bool {
        matches!(self.verb.as_str(), "get" | "list")
    }
}

/// `update apps.example.com/status`
impl fmt::Display for Right {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.verb, self.resource)
    }
}

/// Which read of the server itself.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ReadAddress {
    pub(crate) right: Right,
    /// How many-th read of this verb and resource in its step, from 1.
    pub(crate) nth: u64,
}

/// `get configmaps #1`
impl fmt::Display for ReadAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} #{}", self.right, self.nth)
    }
}

/// What happens to a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ReadStrike {
    /// The answer is 500.
    Fail,
    /// No answer comes, and it is given up.
    TimeOut,
    /// It arrives later.
    Delay(Duration),
}

/// What a read gets instead of its answer, or before it.
pub(super) enum ReadFate {
    Answered(HttpResponse),
    TimedOut,
    Late(Duration),
}

/// What happens at a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Strike {
    /// The process ends before the request leaves it.
    CrashBefore,
    /// The server does what is asked, and the process ends before it gets the answer.
    CrashAfter,
    /// The server does not see it; the answer has this code.
    Answer(u16),
    /// The server does what is asked; the answer is lost.
    LoseAnswer,
    /// The server does not see it; the connection breaks.
    Unreachable,
    /// The server does not see it; no answer comes, and it is given up.
    TimeOut,
    /// The server does what is asked; no answer comes, and it is given up.
    TimeOutAfter,
    /// It arrives later.
    Delay(Duration),
    /// The server does what is asked at once; the answer comes later.
    LateAnswer(Duration),
    /// All watches of the manager end before the server sees it.
    DropWatches,
    /// The same, with 410 Gone.
    ExpireWatches,
    /// Somebody else acts after the server did what is asked, before the manager gets the answer.
    Pause,
    /// Events begin to be late before the server sees it.
    Lag,
    /// As after a crash, but another replica takes over the lease, which has followed all the time.
    TakeOver,
    /// The same, and the other replica has not heard of the write yet.
    TakeOverBlind,
    /// The operator's webhooks are down or slow before the server sees it.
    Webhooks(WebhookTrouble),
}

/// What a write tells the run that it belongs to.
#[derive(Debug)]
pub(crate) enum Signal {
    /// The process has ended; its requests are never answered.
    Crashed,
    /// The write waits until the sender is used or dropped.
    Paused(oneshot::Sender<()>),
}

/// A write of the manager.
#[derive(Clone, Debug)]
pub(crate) struct JournaledWrite {
    pub(crate) step: usize,
    pub(crate) address: WriteAddress,
    pub(crate) body: Option<Value>,
    /// The code of the answer; `None` if the manager got none.
    pub(crate) code: Option<u16>,
    /// Whether it changed what is stored.
    pub(crate) effective: bool,
    /// The revision of the server when it was sent, and when it was answered.
    pub(crate) revision: u64,
    pub(crate) revision_after: u64,
    /// How many records the trace had when it was sent.
    pub(crate) trace_position: u64,
    /// When it was sent, and how often webhooks were called before.
    pub(crate) sent: Instant,
    pub(crate) webhook_calls: u64,
    pub(crate) strike: Option<Strike>,
}

/// The writes so far. Shared by the traffic and the run.
pub(crate) struct Journal {
    state: Mutex<State>,
    signals: mpsc::UnboundedSender<Signal>,
    revision: Counter,
    trace: OnceLock<Counter>,
}

type Counter = Box<dyn Fn() -> u64 + Send + Sync>;

#[derive(Default)]
struct State {
    home: String,
    /// The step that is taken; before the first one, `usize::MAX`.
    step: usize,
    counts: BTreeMap<WriteAddress, u64>,
    writes: Vec<JournaledWrite>,
    armed: Vec<(WriteAddress, Strike)>,
    /// What begins at a strike that is a lag.
    lag: Option<Lag>,
    /// What the role does not allow, and how many requests it has refused.
    forbidden: Option<(Right, u64)>,
    /// How often what was read from the server in each step.
    reads: BTreeMap<(usize, Right), u64>,
    /// The read to which something happens.
    armed_read: Option<(ReadAddress, ReadStrike)>,
}

impl State {
    /// Whether the role lacks a right, which is counted then.
    fn refuses(&mut self, right: &Right) -> bool {
        match &mut self.forbidden {
            Some((forbidden, refused)) if forbidden == right => {
                *refused += 1;
                true
            }
            _ => false,
        }
    }
}

/// A resource with its group and its subresource: `deployments.apps/status`.
fn resource_of(api_request: &ApiRequest) -> String {
    let resource = api_request.resource_with_group();
    match api_request.resource.split_once('/') {
        Some((_, subresource)) => format!("{resource}/{subresource}"),
        None => resource,
    }
}

impl fmt::Debug for Journal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let writes = self.state.lock().writes.len();
        f.debug_struct("Journal")
            .field("writes", &writes)
            .finish_non_exhaustive()
    }
}

impl Journal {
    /// An empty journal. `revision` tells the revision of the server, so that a write without effect is known as one.
    pub(crate) fn new(revision: impl Fn() -> u64 + Send + Sync + 'static) -> (Self, mpsc::UnboundedReceiver<Signal>) {
        let (signals, receiver) = mpsc::unbounded_channel();
        let journal = Journal {
            state: Mutex::new(State {
                step: usize::MAX,
                ..State::default()
            }),
            signals,
            revision: Box::new(revision),
            trace: OnceLock::new(),
        };
        (journal, receiver)
    }

    /// Begins a step: writes are counted anew, and those at the addresses of `armed` will be struck; `lag` begins there if that
    /// is what happens.
    pub(crate) fn begin_step(&self, step: usize, armed: Vec<(WriteAddress, Strike)>, lag: Option<Lag>) {
        let mut state = self.state.lock();
        state.lag = lag;
        state.step = step;
        state.counts.clear();
        state.armed = armed;
        state.armed_read = None;
    }

    /// Writes say from now on how many records the manager's trace had.
    pub(crate) fn set_trace(&self, count: impl Fn() -> u64 + Send + Sync + 'static) {
        // An environment has one trace.
        let _ = self.trace.set(Box::new(count));
    }

    /// From now on the role has not this right.
    pub(crate) fn forbid(&self, right: Right) {
        self.state.lock().forbidden = Some((right, 0));
    }

    /// From now on the role has all rights again. Returns how many requests were refused.
    pub(crate) fn permit(&self) -> u64 {
        self.state.lock().forbidden.take().map_or(0, |(_, refused)| refused)
    }

    /// Whether a write is refused.
    fn is_refused(&self, at: usize) -> bool {
        let mut state = self.state.lock();
        let right = state.writes.get(at).map(|write| write.address.right());
        right.is_some_and(|right| state.refuses(&right))
    }

    /// Notes a read that is about to be made, and says what happens to it.
    pub(super) fn read_request(&self, api_request: &ApiRequest) -> Option<ReadFate> {
        let right = Right {
            verb: api_request.verb.clone(),
            resource: resource_of(api_request),
        };
        if !right.is_to_read() || right.resource.is_empty() || api_request.is_event_or_lease() {
            return None;
        }
        let mut state = self.state.lock();
        let is_refused = state.refuses(&right);
        let step = state.step;
        let count = state.reads.entry((step, right.clone())).or_default();
        *count += 1;
        let address = ReadAddress { right, nth: *count };
        if is_refused {
            return Some(ReadFate::Answered(answer(403)));
        }
        let (_, strike) = state.armed_read.take_if(|(armed, _)| *armed == address)?;
        Some(match strike {
            ReadStrike::Fail => ReadFate::Answered(answer(500)),
            ReadStrike::TimeOut => ReadFate::TimedOut,
            ReadStrike::Delay(by) => ReadFate::Late(by),
        })
    }

    /// From now on this happens to a read of the step.
    pub(crate) fn arm_read(&self, address: ReadAddress, strike: ReadStrike) {
        self.state.lock().armed_read = Some((address, strike));
    }

    /// The rights that reads of the server needed, with their steps, and how often.
    pub(crate) fn reads(&self) -> BTreeMap<(usize, Right), u64> {
        self.state.lock().reads.clone()
    }

    /// Names objects of this namespace without it.
    pub(crate) fn set_home(&self, home: &str) {
        home.clone_into(&mut self.state.lock().home);
    }

    /// From now on nothing happens to a read. Whether it has happened.
    pub(crate) fn disarm_read(&self) -> bool {
        self.state.lock().armed_read.take().is_none()
    }

    /// Whether a strike still waits for its write.
    pub(crate) fn is_armed(&self) -> bool {
        !self.state.lock().armed.is_empty()
    }

    /// The writes, which the journal forgets.
    pub(crate) fn take_writes(&self) -> Vec<JournaledWrite> {
        std::mem::take(&mut self.state.lock().writes)
    }

    /// Looks at the writes.
    pub(crate) fn read<T>(&self, look: impl FnOnce(&[JournaledWrite]) -> T) -> T {
        look(&self.state.lock().writes)
    }

    pub(crate) fn len(&self) -> usize {
        self.state.lock().writes.len()
    }

    /// Notes a write that is about to be made, and says what happens to it.
    fn begin(&self, api_request: &ApiRequest, body: Option<Value>, webhook_calls: u64) -> (usize, Option<Strike>) {
        let revision = (self.revision)();
        let trace_position = self.trace.get().map_or(0, |count| count());
        let mut state = self.state.lock();
        let mut address = WriteAddress::of(api_request, body.as_ref(), &state.home);
        let count = state.counts.entry(address.clone()).or_default();
        *count += 1;
        address.nth = *count;
        let struck = state.armed.iter().position(|(armed, _)| *armed == address);
        let strike = struck.map(|at| state.armed.remove(at).1);
        let step = state.step;
        state.writes.push(JournaledWrite {
            step,
            address,
            body,
            code: None,
            effective: false,
            revision,
            revision_after: revision,
            trace_position,
            sent: Instant::now(),
            webhook_calls,
            strike,
        });
        (state.writes.len() - 1, strike)
    }

    fn end(&self, at: usize, code: u16, effective: bool) {
        let revision = (self.revision)();
        if let Some(write) = self.state.lock().writes.get_mut(at) {
            write.code = Some(code);
            write.effective = effective;
            write.revision_after = revision;
        }
    }

    /// Ends the manager of this time, as when its process is killed.
    fn crash(&self, traffic: &Traffic, life: u64) {
        traffic.end_life(life);
        // The run is over if nobody listens.
        let _ = self.signals.send(Signal::Crashed);
    }

    /// Makes a write of one of the managers, with what happens to it.
    pub(super) async fn write<S>(
        &self,
        (traffic, life): (&Traffic, u64),
        api_request: &ApiRequest,
        request: Request<Body>,
        inner: &mut S,
    ) -> Result<HttpResponse, BoxError>
    where
        S: Service<Request<Body>>,
        S::Response: IntoHttpResponse,
        S::Error: Into<BoxError>,
    {
        let (parts, body) = request.into_parts();
        let body = body.collect().await?.to_bytes();
        let (at, strike) = self.begin(
            api_request,
            serde_json::from_slice(&body).ok(),
            traffic.webhooks().count(),
        );
        // What somebody undoes at once is made again at once as long as the event is late: without a pause no time would pass.
        if traffic.lags().may_be_behind() || traffic.webhooks().may_be_behind() {
            tokio::time::sleep(PAUSE).await;
        }
        if self.is_refused(at) {
            self.end(at, 403, false);
            return Ok(answer(403));
        }
        match strike {
            Some(Strike::CrashBefore) => {
                self.crash(traffic, life);
                std::future::pending::<()>().await;
            }
            Some(Strike::Answer(code)) => {
                self.end(at, code, false);
                return Ok(answer(code));
            }
            Some(Strike::Unreachable) => return Err("injected: the connection broke".into()),
            Some(Strike::TimeOut) => {
                tokio::time::sleep(TIMEOUT).await;
                return Err("injected: the request timed out".into());
            }
            Some(Strike::Delay(by)) => tokio::time::sleep(by).await,
            Some(Strike::DropWatches) => drop(traffic.inject(Fault::drop_watches())),
            Some(Strike::ExpireWatches) => drop(traffic.inject(Fault::expire_watches())),
            Some(Strike::Webhooks(trouble)) => traffic.webhooks().trouble(trouble),
            Some(Strike::TakeOverBlind) => traffic.lags().begin(Lag {
                resource: api_request.resource_with_group(),
                lateness: Lateness::Long,
            }),
            Some(Strike::Lag) => {
                if let Some(lag) = self.state.lock().lag.take() {
                    traffic.lags().begin(lag);
                }
            }
            _ => {}
        }
        let before = (self.revision)();
        let request = Request::from_parts(parts, Body::from(body.to_vec()));
        let answer = inner.call(request).await.map_err(Into::into)?.into_http_response();
        let (parts, body) = traffic.took(api_request, answer).await?.into_parts();
        let body = body.collect().await?.to_bytes();
        let effective = parts.status.is_success() && is_newer(&body, before, &api_request.verb);
        self.end(at, parts.status.as_u16(), effective);
        match strike {
            Some(Strike::CrashAfter | Strike::TakeOver | Strike::TakeOverBlind) => {
                self.crash(traffic, life);
                std::future::pending::<()>().await;
            }
            Some(Strike::LoseAnswer) => return Err("injected: the answer is lost".into()),
            Some(Strike::TimeOutAfter) => {
                tokio::time::sleep(TIMEOUT).await;
                return Err("injected: the request timed out".into());
            }
            Some(Strike::LateAnswer(by)) => tokio::time::sleep(by).await,
            Some(Strike::Pause) => {
                let (go_on, waiting) = oneshot::channel();
                if self.signals.send(Signal::Paused(go_on)).is_ok() {
                    let _ = waiting.await;
                }
            }
            _ => {}
        }
        Ok(Response::from_parts(parts, whole(body)))
    }
}

/// A response whose body can be put into a box.
pub(super) trait IntoHttpResponse {
    fn into_http_response(self) -> HttpResponse;
}

impl<B> IntoHttpResponse for Response<B>
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    fn into_http_response(self) -> HttpResponse {
        self.map(|body| body.map_err(Into::into).boxed_unsync())
    }
}

/// What is read of an answer: the rest of an object is passed over.
#[derive(Default, Deserialize)]
struct Versioned<'a> {
    #[serde(borrow, default)]
    metadata: VersionedMetadata<'a>,
}

#[derive(Default, Deserialize)]
struct VersionedMetadata<'a> {
    // A number: nothing in it is escaped.
    #[serde(rename = "resourceVersion")]
    version: Option<&'a str>,
}

/// Whether an answer tells of a write after a revision. What a deletion answers may be no object.
fn is_newer(body: &[u8], before: u64, verb: &str) -> bool {
    let answer: Versioned<'_> = serde_json::from_slice(body).unwrap_or_default();
    match answer.metadata.version.and_then(|version| version.parse::<u64>().ok()) {
        Some(version) => version > before || verb == "delete",
        None => true,
    }
}

/// An error as the server answers it; where it is overloaded, it says when to come again.
fn answer(code: u16) -> HttpResponse {
    let mut answer = failure(code);
    if matches!(
        answer.status(),
        StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE
    ) {
        let after = header::HeaderValue::from_static("1");
        answer.headers_mut().insert(header::RETRY_AFTER, after);
    }
    answer
}
