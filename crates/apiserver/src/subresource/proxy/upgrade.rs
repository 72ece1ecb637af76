//! Requests that ask for another protocol: once the port agrees, bytes are passed on as they come, both ways.

use http::{HeaderValue, Request, Response, StatusCode, Uri, header};
use http_body_util::{BodyExt as _, Empty};
use hyper_util::rt::TokioIo;
use kubewright_apimachinery::url::escape_path;
use tokio::io::{AsyncWriteExt as _, copy, split};

use super::location::Location;
use super::{forward, without_credentials};
use crate::request::call::Call;
use crate::stream::{Connection, OutsideHttp, Upgrade};
use crate::subresource::life::ConnectionLife;
use crate::wire::body::Body;
use crate::wire::status::{Result, Status};

pub(super) async fn answer(call: &Call<'_>, location: Location, path: &str) -> Result<Response<Body>> {
    let failed = |why: &str| Status::new(StatusCode::INTERNAL_SERVER_ERROR, "", why);
    let connection = forward::connect(call, &location).await.map_err(|status| {
        let why = status.message.trim_start_matches("error trying to reach service: ");
        failed(&format!("error dialing backend: {why}"))
    })?;
    // As upstream, without the query.
    let path = if path.is_empty() { "/" } else { path };
    let uri = escape_path(path)
        .parse::<Uri>()
        .map_err(|error| failed(&error.to_string()))?;
    let mut request = Request::new(Empty::new().map_err(|never| match never {}).boxed_unsync());
    *request.method_mut() = call.method().clone();
    *request.uri_mut() = uri;
    *request.headers_mut() = without_credentials(call);
    let (mut response, driver) = forward::send(connection, request).await.map_err(|why| failed(&why))?;
    let code = response.status();
    if code != StatusCode::SWITCHING_PROTOCOLS {
        if code.as_u16() < 400 {
            let why = format!("invalid upgrade response: status code {}", code.as_u16());
            return Err(failed(&why));
        }
        return refused(response).await;
    }
    let upgraded = hyper::upgrade::on(&mut response)
        .await
        .map_err(|error| failed(&error.to_string()))?;
    let headers = response.headers().clone();
    let upgrade = Upgrade::new(move |client| async move {
        pass_on(client, TokioIo::new(upgraded), location.life).await;
        drop(driver);
    });
    let mut response = Response::new(Body::upgrade(upgrade));
    *response.status_mut() = code;
    OutsideHttp::verbatim(&mut response, headers);
    Ok(response)
}

/// The refusal of the port, as it is.
async fn refused(response: Response<hyper::body::Incoming>) -> Result<Response<Body>> {
    /// The longest refusal that is passed on.
    const MOST: usize = 1024 * 1024;
    let (parts, body) = response.into_parts();
    let body = http_body_util::Limited::new(body, MOST).collect().await;
    let body = body.map(http_body_util::Collected::to_bytes).unwrap_or_default();
    let mut headers = parts.headers;
    headers.remove(header::TRANSFER_ENCODING);
    headers.insert(header::CONTENT_LENGTH, body.len().into());
    headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
    let mut refused = Response::new(Body::from(body));
    *refused.status_mut() = parts.status;
    OutsideHttp::verbatim(&mut refused, headers);
    Ok(refused)
}

/// Passes bytes on until one side has no more, or the Pod ends.
async fn pass_on(client: Box<dyn Connection>, port: impl Connection, life: ConnectionLife) {
    let (mut from_client, mut to_client) = split(client);
    let (mut from_port, mut to_port) = split(port);
    tokio::select! {
        _ = copy(&mut from_client, &mut to_port) => {}
        _ = copy(&mut from_port, &mut to_client) => {}
        _ = life.end() => {}
    }
    let _ = to_client.shutdown().await;
    let _ = to_port.shutdown().await;
}
