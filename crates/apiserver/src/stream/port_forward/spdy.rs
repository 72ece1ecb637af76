//! Forwarded ports over SPDY: for each connection the client opens two streams, one for data and one for what went wrong, which name
//! the port and share a number.

use std::collections::HashMap;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use http::{HeaderMap, Response};
use tokio::time::{Instant, sleep_until};

use super::{ForwardedPod, copy};
use crate::stream::spdy::frame::ResetCode;
use crate::stream::spdy::handshake;
use crate::stream::spdy::session::{self, Stream, Streams};
use crate::stream::{Connection, Upgrade, node};
use crate::wire::body::Body;

const PROTOCOLS: [&str; 1] = ["portforward.k8s.io"];
/// How many connections a client may have at once, and how many may wait for their second stream.
const MAX_CONNECTIONS: usize = 512;
/// How long the second stream of a connection may take.
const PAIRING: Duration = Duration::from_secs(30);

/// Answers with a SPDY session over which ports of a Pod are forwarded. It lasts as long as `life` does not end.
pub(crate) fn run(
    headers: &HeaderMap,
    pod: ForwardedPod,
    life: impl Future<Output = ()> + Send + 'static,
) -> Response<Body> {
    let protocol = match handshake::accept(headers, &PROTOCOLS) {
        Ok(protocol) => protocol,
        Err(refusal) => return node::as_it_is(*refusal),
    };
    let upgrade = Upgrade::new(move |connection| serve(connection, pod, life));
    handshake::accepted(protocol, Body::upgrade(upgrade))
}

/// Forwards ports of a Pod over a connection that speaks SPDY.
pub(super) async fn serve(connection: impl Connection, pod: ForwardedPod, life: impl Future<Output = ()>) {
    let pod = &pod;
    session::serve(connection, move |streams| async move {
        tokio::select! {
            () = forward_all(streams, pod) => {}
            () = life => {}
        }
    })
    .await;
}

/// The streams of a connection, until it has both.
struct Pair {
    port: u16,
    data: Option<Stream>,
    error: Option<Stream>,
    /// Until when the second one is waited for.
    until: Instant,
}

impl Pair {
    /// Says what is wrong, if there is a stream for that. As upstream, nothing is ended: the client does that.
    async fn complain(&self, why: &str) {
        if let Some(error) = &self.error {
            let _ = error.sender.send(why.to_owned().into()).await;
        }
    }
}

async fn forward_all(mut streams: Streams, pod: &ForwardedPod) {
    let mut waiting: HashMap<String, Pair> = HashMap::new();
    let mut running = FuturesUnordered::new();
    loop {
        let next = waiting.values().map(|pair| pair.until).min();
        let expired = async {
            match next {
                Some(next) => sleep_until(next).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            stream = streams.next() => {
                let Some(stream) = stream else { return };
                let full = running.len() >= MAX_CONNECTIONS || waiting.len() >= MAX_CONNECTIONS;
                if let Some(pair) = pair_up(stream, &mut waiting, full).await {
                    running.push(forward(pair, pod));
                }
            }
            Some(()) = running.next() => {}
            () = expired => {
                let now = Instant::now();
                let late: Vec<String> = waiting
                    .iter()
                    .filter(|(_, pair)| pair.until <= now)
                    .map(|(id, _)| id.clone())
                    .collect();
                for id in late {
                    if let Some(pair) = waiting.remove(&id) {
                        pair.complain(&format!("(request={id}) timed out waiting for streams")).await;
                    }
                }
            }
        }
    }
}

/// Both streams of a connection, once they are there. A stream that names no port, or is of no known type, is refused.
async fn pair_up(stream: Stream, waiting: &mut HashMap<String, Pair>, full: bool) -> Option<(u16, Stream, Stream)> {
    let kind = stream.headers.get("streamtype");
    let is_error = kind == "error";
    let port = stream.headers.get("port").parse::<u16>().ok().filter(|port| *port > 0);
    let port = port.filter(|_| !full && (is_error || kind == "data"));
    let Some(port) = port else {
        let _ = stream.sender.reset(ResetCode::Cancel).await;
        return None;
    };
    // Clients of long ago give no number: their streams follow one another.
    let id = match (stream.headers.get("requestid"), is_error) {
        ("", true) => stream.sender.id().to_string(),
        ("", false) => stream.sender.id().wrapping_sub(2).to_string(),
        (id, _) => id.to_owned(),
    };
    stream.sender.accept().await.ok()?;
    let pair = waiting.entry(id.clone()).or_insert_with(|| Pair {
        port,
        data: None,
        error: None,
        until: Instant::now() + PAIRING,
    });
    let place = if is_error { &mut pair.error } else { &mut pair.data };
    if place.is_some() {
        let what = if is_error { "error" } else { "data" };
        let why = format!("error processing stream for request {id}: {what} stream already assigned");
        pair.complain(&why).await;
        return None;
    }
    if !is_error {
        pair.port = port;
    }
    *place = Some(stream);
    if pair.data.is_none() || pair.error.is_none() {
        return None;
    }
    let pair = waiting.remove(&id)?;
    Some((pair.port, pair.data?, pair.error?))
}

async fn forward((port, data, error): (u16, Stream, Stream), pod: &ForwardedPod) {
    let Stream { reader, sender, .. } = data;
    let forwarded = async {
        let connection = pod.connect(port).await?;
        let sender = &sender;
        copy(connection, reader, move |piece| sender.send(piece)).await
    };
    // A client that is gone hears nothing more.
    match forwarded.await {
        Ok(()) => {
            let _ = sender.finish().await;
            let _ = error.sender.finish().await;
        }
        Err(why) => {
            let why = pod.complaint(port, &why);
            let _ = error.sender.send(why.into()).await;
            let _ = sender.reset(ResetCode::Cancel).await;
            let _ = error.sender.reset(ResetCode::Cancel).await;
        }
    }
}
