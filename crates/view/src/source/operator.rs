//! The operator's trace, read from its debug endpoint as things happen, again and again while the operator comes and goes.

use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, StatusCode, header};
use http_body_util::{BodyExt as _, Empty, Limited};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use jiff::{SignedDuration, Timestamp};
use kubewright_apimachinery::errors::with_sources;
use kubewright_runtime::stop::Stop;
use kubewright_runtime::trace::TraceRecord;
use serde::Deserialize;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;

use super::check_rights;
use super::server_sent::{Events, ServerSent};
use crate::model::SharedModel;

/// Where an operator serves its trace.
const TRACE: &str = "/debug/kubewright/trace/events";
/// Its debug endpoint answers under local names only.
const HOST: &str = "localhost";
/// Where it says how it stands.
const STATE: &str = "/debug/kubewright";
/// How often it is asked for that, and how much of an answer is read.
const LOOK: Duration = Duration::from_secs(2);
const LONGEST_STATE: usize = 16 << 20;
/// How long after an attempt the next one is made.
const AGAIN: Duration = Duration::from_millis(250);

/// A connection to an operator.
pub trait Connection: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Connection for T {}

/// A connection that is being made.
pub type Connecting<'a> = Pin<Box<dyn Future<Output = io::Result<Box<dyn Connection>>> + Send + 'a>>;

/// How an operator's debug endpoint is reached.
pub trait Connect: Send + Sync {
    /// A new connection.
    fn connect(&self) -> Connecting<'_>;
}

/// An operator of this machine.
impl Connect for SocketAddr {
    fn connect(&self) -> Connecting<'_> {
        Box::pin(async move {
            let stream = TcpStream::connect(self).await?;
            Ok(Box::new(stream) as Box<dyn Connection>)
        })
    }
}

/// Reads the trace of an operator into the model until the end is asked for.
pub async fn follow_operator(operator: Arc<dyn Connect>, model: SharedModel, stop: Stop) {
    loop {
        tokio::select! {
            biased;
            () = stop.stopped() => return,
            // It ends with the operator, or there is none yet.
            read = read(&*operator, &model) => {
                let why = read.err().map(|error| with_sources(&error));
                if why.is_some() {
                    model.write(|model| model.operator.reached(why));
                }
            }
            never = look(&*operator, &model) => match never {},
        }
        tokio::select! {
            biased;
            () = stop.stopped() => return,
            () = tokio::time::sleep(AGAIN) => {}
        }
    }
}

/// Reads one trace to its end.
async fn read(operator: &dyn Connect, model: &SharedModel) -> io::Result<()> {
    let mut body = get(operator, TRACE).await?;
    model.write(|model| model.operator.reached(None));
    let mut events = Events::default();
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.map_err(io::Error::other)?.into_data() else {
            continue;
        };
        let events = events.take(&data).ok_or(io::ErrorKind::InvalidData)?;
        if !events.is_empty() {
            model.write(|model| events.iter().for_each(|event| take(event, model)));
        }
    }
    Ok(())
}

/// Looks again and again how the operator stands.
async fn look(operator: &dyn Connect, model: &SharedModel) -> Infallible {
    loop {
        // One that does not answer in time, or not in this form, shows nothing.
        if let Ok(Ok(page)) = tokio::time::timeout(LOOK, state(operator)).await {
            model.write(|model| model.operator.take(page, Timestamp::now()));
        }
        check_rights(model).await;
        tokio::time::sleep(LOOK).await;
    }
}

async fn state(operator: &dyn Connect) -> io::Result<Value> {
    let body = get(operator, STATE).await?;
    let body = Limited::new(body, LONGEST_STATE)
        .collect()
        .await
        .map_err(io::Error::other)?;
    Ok(serde_json::from_slice(&body.to_bytes())?)
}

fn take(event: &ServerSent, model: &mut crate::Model) {
    // The operator may be built with another version of the runtime: what cannot be read is left out.
    match &*event.name {
        "begin" => {
            if let Ok(Begin { process, elapsed }) = serde_json::from_str(&event.data) {
                let now = Timestamp::now();
                let began = SignedDuration::try_from_secs_f64(elapsed).ok();
                model
                    .timeline
                    .begin(process, began.and_then(|ago| now.checked_sub(ago).ok()).unwrap_or(now));
            }
        }
        "missed" => {
            if let Ok(Missed { count }) = serde_json::from_str(&event.data) {
                model.timeline.missed(count);
            }
        }
        "message" => {
            if let Ok(record) = serde_json::from_str::<TraceRecord>(&event.data) {
                model.record(record, event.data.len());
            }
        }
        _ => {}
    }
}

/// What a trace begins with.
#[derive(Deserialize)]
struct Begin {
    process: u64,
    /// How many seconds ago it began.
    elapsed: f64,
}

/// The operator forgot records that were not read yet.
#[derive(Deserialize)]
struct Missed {
    count: u64,
}

/// The body of a page of the debug endpoint.
async fn get(operator: &dyn Connect, path: &str) -> io::Result<Incoming> {
    let stream = operator.connect().await?;
    let (mut sender, connection) = http1::handshake::<_, Empty<Bytes>>(TokioIo::new(stream))
        .await
        .map_err(io::Error::other)?;
    // It ends with the body.
    tokio::spawn(async move { drop(connection.await) });
    let request = Request::get(path)
        .header(header::HOST, HOST)
        .body(Empty::<Bytes>::new())
        .map_err(io::Error::other)?;
    let answer = sender.send_request(request).await.map_err(io::Error::other)?;
    if answer.status() == StatusCode::OK {
        return Ok(answer.into_body());
    }
    let status = answer.status();
    let body = Limited::new(answer.into_body(), LONGEST_STATE).collect().await;
    let said = body.map(|body| String::from_utf8_lossy(&body.to_bytes()).trim().to_owned());
    Err(io::Error::other(format!(
        "it answers {status}: {}",
        said.unwrap_or_default()
    )))
}
