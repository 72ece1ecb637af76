//! The trace of the operator, passed on as it comes. A page that reads slowly is read from slowly, up to the operator's own debug
//! endpoint, where it misses records and is told so.

use std::io;
use std::net::SocketAddr;

use bytes::Bytes;
use futures_util::stream::unfold;
use http::{Request, StatusCode, header};
use http_body_util::{BodyExt as _, Empty};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use kubewright_runtime::serve::{HttpResponse, ResponseBody};
use kubewright_runtime::stop::Stop;
use tokio::net::TcpStream;

use super::respond::events;

/// Where an operator serves its trace.
const PATH: &str = "/debug/kubewright/trace/events";

/// While there is no operator, or none with a trace: a browser asks again after a second.
const WAITING: &str = "retry: 1000\nevent: waiting\ndata: {}\n\n";

/// The trace from its beginning, as server-sent events. It ends with the operator: a browser comes back by itself.
pub(super) async fn trace(operator: SocketAddr, stop: Stop) -> HttpResponse {
    let Ok(body) = connect(operator).await else {
        return events(WAITING.into());
    };
    let first = Some(Bytes::from_static(b"retry: 1000\n\n"));
    let pieces = unfold((first, body, stop), |(first, mut body, stop)| async move {
        if let Some(first) = first {
            return Some((first, (None, body, stop)));
        }
        loop {
            let frame = tokio::select! {
                biased;
                () = stop.stopped() => return None,
                frame = body.frame() => frame?.ok()?,
            };
            if let Ok(data) = frame.into_data() {
                return Some((data, (None, body, stop)));
            }
        }
    });
    events(ResponseBody::stream(pieces))
}

async fn connect(operator: SocketAddr) -> io::Result<Incoming> {
    let stream = TcpStream::connect(operator).await?;
    let (mut sender, connection) = http1::handshake::<_, Empty<Bytes>>(TokioIo::new(stream))
        .await
        .map_err(io::Error::other)?;
    // It ends with the body.
    tokio::spawn(async move { drop(connection.await) });
    let request = Request::get(PATH)
        .header(header::HOST, operator.to_string())
        .body(Empty::<Bytes>::new())
        .map_err(io::Error::other)?;
    let answer = sender.send_request(request).await.map_err(io::Error::other)?;
    if answer.status() != StatusCode::OK {
        return Err(io::ErrorKind::NotFound.into());
    }
    Ok(answer.into_body())
}
