//! HTTP/2 to a server that offers it: many requests over one connection, none of which can stop the others. Errors are worded as Go's.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::uri::{PathAndQuery, Scheme};
use http::{HeaderMap, HeaderValue, Method, Request, Response, Uri, header};
use http_body::{Body as _, Frame, SizeHint};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use hyper::client::conn::http2::{self, SendRequest};
use hyper_util::rt::{TokioIo, TokioTimer};
use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::AbortHandle;
use tokio::time::Instant;

use super::connection::{self, OutgoingBody, SendError};

/// How many requests share a connection; a server may allow fewer.
const STREAMS: usize = 100;
/// How many bytes of one response are on their way while nobody reads it.
const STREAM_WINDOW: u32 = 256 * 1024;
/// As many as all streams together may have, so that responses that nobody reads leave the others theirs.
#[expect(clippy::cast_possible_truncation, reason = "a small constant")]
const CONNECTION_WINDOW: u32 = STREAMS as u32 * STREAM_WINDOW;
/// The largest head of a response.
const MAX_HEAD: u32 = 1024 * 1024;
/// How much of a request's body is kept for a server that does not take it.
const SEND_BUFFER: usize = 64 * 1024;
/// Upstream's health checks: a connection on which nothing comes is asked, and lost if it does not answer.
const PING_EVERY: Duration = Duration::from_secs(30);
const PING_WITHIN: Duration = Duration::from_secs(15);

type Driver<S> = http2::Connection<TokioIo<S>, OutgoingBody, Tasks>;

/// A connection, or one stream of it.
pub(super) struct Http2 {
    sender: SendRequest<OutgoingBody>,
    shared: Arc<Shared>,
    /// Counted as long as it is there.
    stream: Option<OpenStream>,
}

/// What all streams of a connection share. Its tasks end when nobody has it any more.
struct Shared {
    tasks: Tasks,
    /// How many streams the server allows at once.
    allowed: Box<dyn Fn() -> usize + Send + Sync>,
    open: AtomicUsize,
    /// How many requests were sent: the next has the id `2n + 1`.
    sent: AtomicUsize,
    /// A request was given up whose body the server had not taken: nothing but the end of the connection ends its stream.
    is_retired: AtomicBool,
    idle_since: Mutex<Instant>,
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.tasks.abort();
    }
}

impl Http2 {
    pub(super) async fn speak<S>(stream: S) -> Result<Http2, String>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let tasks = Tasks::default();
        let (sender, driver) = http2::Builder::new(tasks.clone())
            .timer(TokioTimer::new())
            .keep_alive_interval(PING_EVERY)
            .keep_alive_timeout(PING_WITHIN)
            .initial_stream_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .max_header_list_size(MAX_HEAD)
            .max_send_buf_size(SEND_BUFFER)
            .handshake(TokioIo::new(stream))
            .await
            .map_err(|error| error.to_string())?;
        let driver: Arc<Mutex<Option<Driver<S>>>> = Arc::new(Mutex::new(Some(driver)));
        let running = Arc::clone(&driver);
        tasks.spawn(poll_fn(move |context| {
            let mut running = running.lock();
            let Some(connection) = &mut *running else {
                return Poll::Ready(());
            };
            // An error of the connection reaches callers through their pending responses, and those that wait for their turn by
            // its being dropped.
            let ended = Pin::new(connection).poll(context).map(drop);
            if ended.is_ready() {
                *running = None;
            }
            ended
        }));
        let shared = Shared {
            tasks,
            allowed: Box::new(move || driver.lock().as_ref().map_or(0, Driver::current_max_send_streams)),
            open: AtomicUsize::new(0),
            sent: AtomicUsize::new(0),
            is_retired: AtomicBool::new(false),
            idle_since: Mutex::new(Instant::now()),
        };
        Ok(Http2 {
            sender,
            shared: Arc::new(shared),
            stream: None,
        })
    }

    /// Whether requests may be sent over it.
    pub(super) fn is_usable(&self) -> bool {
        !self.sender.is_closed() && !self.shared.is_retired.load(Ordering::Acquire)
    }

    /// Since when it has no stream; `None` while it has one.
    pub(super) fn idle_since(&self) -> Option<Instant> {
        (self.shared.open.load(Ordering::Acquire) == 0).then(|| *self.shared.idle_since.lock())
    }

    /// One more stream of this connection; `None` if it has as many as it may have.
    pub(super) fn stream(&self) -> Option<Http2> {
        let most = (self.shared.allowed)().min(STREAMS);
        let room = |open: usize| (open < most).then_some(open + 1);
        let counted = self.shared.open.fetch_update(Ordering::AcqRel, Ordering::Acquire, room);
        counted.ok()?;
        Some(Http2 {
            sender: self.sender.clone(),
            shared: Arc::clone(&self.shared),
            stream: Some(OpenStream {
                shared: Arc::clone(&self.shared),
                is_body_taken: Arc::new(AtomicBool::new(true)),
            }),
        })
    }

    pub(super) async fn send(
        &mut self,
        request: Request<OutgoingBody>,
        ends: &str,
    ) -> Result<Response<Incoming>, SendError> {
        let head = Head::of(&request);
        let request = self.prepared(request);
        let id = 2 * self.shared.sent.fetch_add(1, Ordering::AcqRel) + 1;
        self.sender.try_send_request(request).await.map_err(|mut error| {
            let message = error.take_message();
            let error = error.into_error();
            let unsent = match message {
                Some(message) => Some(head.with(message.into_body())),
                None if is_refused(&error) && head.is_whole => Some(head.with(nothing())),
                None => None,
            };
            SendError {
                stale: unsent.is_some(),
                why: worded(&error, id, ends),
                unsent,
            }
        })
    }

    /// A request in the form that HTTP/2 wants, whose body is watched.
    fn prepared(&mut self, request: Request<OutgoingBody>) -> Request<OutgoingBody> {
        let (mut parts, mut body) = request.into_parts();
        let host = parts.headers.remove(header::HOST);
        split_cookies(&mut parts.headers);
        let mut uri = parts.uri.clone().into_parts();
        uri.scheme = Some(Scheme::HTTPS);
        uri.authority = host.and_then(|host| host.to_str().ok()?.parse().ok());
        uri.path_and_query.get_or_insert_with(|| PathAndQuery::from_static("/"));
        if let Ok(uri) = Uri::from_parts(uri) {
            parts.uri = uri;
        }
        if let Some(stream) = &self.stream
            && !body.is_end_stream()
        {
            stream.is_body_taken.store(false, Ordering::Release);
            body = Watched {
                body,
                is_taken: Arc::clone(&stream.is_body_taken),
            }
            .boxed_unsync();
        }
        Request::from_parts(parts, body)
    }
}

/// Each cookie gets a header of its own, as Go's client writes them.
fn split_cookies(headers: &mut HeaderMap) {
    let cookies: Vec<HeaderValue> = headers
        .get_all(header::COOKIE)
        .iter()
        .flat_map(|value| value.as_bytes().split(|byte| *byte == b';'))
        .map(<[u8]>::trim_ascii_start)
        .filter(|cookie| !cookie.is_empty())
        .filter_map(|cookie| HeaderValue::from_bytes(cookie).ok())
        .collect();
    headers.remove(header::COOKIE);
    for cookie in cookies {
        headers.append(header::COOKIE, cookie);
    }
}

/// A stream that is counted.
struct OpenStream {
    shared: Arc<Shared>,
    is_body_taken: Arc<AtomicBool>,
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        if !self.is_body_taken.load(Ordering::Acquire) {
            self.shared.is_retired.store(true, Ordering::Release);
        }
        *self.shared.idle_since.lock() = Instant::now();
        self.shared.open.fetch_sub(1, Ordering::AcqRel);
    }
}

/// The body of a request, which tells when the connection is done with it.
struct Watched {
    body: OutgoingBody,
    is_taken: Arc<AtomicBool>,
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.is_taken.store(true, Ordering::Release);
    }
}

impl http_body::Body for Watched {
    type Data = Bytes;
    type Error = Box<dyn std::error::Error + Send + Sync>;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// What a request is made of again that was not answered.
struct Head {
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    /// It has no body.
    is_whole: bool,
}

impl Head {
    fn of(request: &Request<OutgoingBody>) -> Head {
        Head {
            method: request.method().clone(),
            uri: request.uri().clone(),
            headers: request.headers().clone(),
            is_whole: request.body().is_end_stream(),
        }
    }

    fn with(self, body: OutgoingBody) -> Request<OutgoingBody> {
        let mut request = Request::new(body);
        *request.method_mut() = self.method;
        *request.uri_mut() = self.uri;
        *request.headers_mut() = self.headers;
        request
    }
}

fn nothing() -> OutgoingBody {
    http_body_util::Empty::new()
        .map_err(|never| match never {})
        .boxed_unsync()
}

/// The tasks of a connection, which end with it.
#[derive(Clone, Default)]
struct Tasks(Arc<Mutex<Vec<AbortHandle>>>);

impl Tasks {
    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let task = tokio::spawn(task).abort_handle();
        let mut running = self.0.lock();
        running.retain(|task| !task.is_finished());
        running.push(task);
    }

    fn abort(&self) {
        for task in self.0.lock().drain(..) {
            task.abort();
        }
    }
}

impl<F> hyper::rt::Executor<F> for Tasks
where
    F: Future + Send + 'static,
{
    fn execute(&self, task: F) {
        self.spawn(async move {
            task.await;
        });
    }
}

fn cause(error: &hyper::Error) -> Option<&h2::Error> {
    std::error::Error::source(error)?.downcast_ref()
}

/// Whether the server says that it has not looked at a request, which is then sent again if nothing of it is lost.
fn is_refused(error: &hyper::Error) -> bool {
    cause(error).is_some_and(|error| {
        let is_refused = error.is_reset() && error.reason() == Some(h2::Reason::REFUSED_STREAM);
        error.is_remote() && (is_refused || error.is_go_away())
    })
}

/// Go's message about a request without a response.
fn worded(error: &hyper::Error, id: usize, ends: &str) -> String {
    if error.is_timeout() {
        return "http2: client connection lost".into();
    }
    let Some(cause) = cause(error) else {
        return "unexpected EOF".into();
    };
    if let Some(error) = cause.get_io() {
        return match error.kind() {
            io::ErrorKind::UnexpectedEof | io::ErrorKind::BrokenPipe => "unexpected EOF".into(),
            _ => connection::io_text(error, ends).unwrap_or_else(|| "unexpected EOF".into()),
        };
    }
    let code = cause.reason().map(code).unwrap_or_default();
    match (cause.is_reset(), cause.is_remote()) {
        (true, true) => format!("stream error: stream ID {id}; {code}; received from peer"),
        (true, false) => format!("stream error: stream ID {id}; {code}"),
        (false, true) => format!("http2: server sent GOAWAY and closed the connection; ErrCode={code}"),
        (false, false) => format!("connection error: {code}"),
    }
}

/// The name of an error code.
fn code(reason: h2::Reason) -> String {
    let name = format!("{reason:?}");
    if name.starts_with(|first: char| first.is_ascii_uppercase()) && !name.contains('(') {
        name
    } else {
        format!("unknown error code 0x{:x}", u32::from(reason))
    }
}
