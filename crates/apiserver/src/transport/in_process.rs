//! The transport without a socket: a tower service, and a `kube::Client` over it.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_util::StreamExt as _;
use futures_util::future::ready;
use http::request::Parts;
use http::{Request, Response, StatusCode, Version};
use http_body_util::{BodyDataStream, BodyExt as _, Empty};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use kube::client::ClientBuilder;
use kube::client::retry::RetryPolicy;
use kubewright_system::same_process::SameProcess;
use tokio::io::DuplexStream;
use tower::retry::RetryLayer;
use tower::util::MapErrLayer;
use tower::{BoxError, Service};

use super::read;
use super::upgraded::Upgraded;
use crate::access::{Identity, User};
use crate::request::{ReceivedBody, RequestBody};
use crate::server::ApiServer;
use crate::service::OutgoingBody;
use crate::stream::is_upgrade;
use crate::wire::body::Body;
use crate::wire::respond;

/// How many bytes a pipe between two ends of HTTP holds.
const PIPE: usize = 64 * 1024;

impl ApiServer {
    /// A client of the administrator. Call it inside a Tokio runtime, which runs the client's queue.
    ///
    /// It retries what a production client retries (429, 503, 504, minding `Retry-After`). A production client's other
    /// layers are about the network: addresses, sockets' timeouts, credentials.
    pub fn client(&self) -> kube::Client {
        self.client_as(User::admin())
    }

    /// A client of another user, with the permissions of the user's roles: `client_as(User::service_account("ns", "name"))`.
    pub fn client_as(&self, user: User) -> kube::Client {
        ClientBuilder::new(self.service_as(user), "default")
            .with_layer(&MapErrLayer::new(|never: Infallible| -> BoxError { match never {} }))
            .with_layer(&RetryLayer::new(RetryPolicy::server_retry()))
            .build()
    }

    /// The server as a tower service that answers the administrator; for any HTTP client built on tower.
    pub fn service(&self) -> InProcess {
        self.service_as(User::admin())
    }

    /// The server as a tower service whose clients say in headers who they are: a bearer token, or what
    /// [`DelegatedAccess`](crate::DelegatedAccess) reads there.
    pub fn service_by_headers(&self) -> InProcess {
        InProcess {
            server: self.clone(),
            identity: Identity::Unknown,
        }
    }

    /// The server as a tower service that answers `user`.
    pub fn service_as(&self, user: User) -> InProcess {
        InProcess {
            server: self.clone(),
            identity: Identity::Proven(Arc::new(user)),
        }
    }
}

/// A server as a tower service: requests go in as they are, with no socket and no TLS between.
///
/// ```
/// use k8s_openapi::api::core::v1::Secret;
/// use kube::api::{Api, ListParams};
/// use kubewright_apiserver::{ApiServer, Body, Options, User};
/// use tower::Service as _;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let server = ApiServer::new(Options::new());
///
/// // For `kube`: the administrator, and a user without permissions.
/// let all: Api<Secret> = Api::all(server.client());
/// assert!(all.list(&ListParams::default()).await.is_ok());
/// let none: Api<Secret> = Api::all(server.client_as(User::service_account("default", "robot")));
/// assert!(none.list(&ListParams::default()).await.is_err());
///
/// // For anything else that is built on tower.
/// let request = || http::Request::get("/readyz").body(Body::empty()).unwrap();
/// assert_eq!(server.service().call(request()).await.unwrap().status(), 200);
/// assert_eq!(server.service_as(User::anonymous()).call(request()).await.unwrap().status(), 200);
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct InProcess {
    server: ApiServer,
    identity: Identity,
}

impl<B> Service<Request<B>> for InProcess
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: std::fmt::Display,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let InProcess { server, identity } = self.clone();
        Box::pin(async move {
            let (mut parts, body) = request.into_parts();
            if is_upgrade(&parts.headers) {
                return match parts.extensions.remove::<OnUpgrade>() {
                    Some(connection) => over_its_connection(&server, &identity, &parts, body, connection).await,
                    None => Ok(over_a_pipe(server, identity, parts).await),
                };
            }
            let mut response = server.serve(&identity, &parts, InProcessBody(body)).await?;
            response.extensions_mut().insert(SameProcess);
            Ok(response)
        })
    }
}

/// The body of a request that came without a socket.
struct InProcessBody<B>(B);

impl<B> RequestBody for InProcessBody<B>
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: std::fmt::Display,
{
    type Error = Infallible;

    async fn whole(self) -> Result<ReceivedBody, Infallible> {
        Ok(read::whole(self.0).await)
    }

    fn stream(self) -> OutgoingBody {
        self.0.map_err(|error| error.to_string().into()).boxed_unsync()
    }
}

/// Answers a request that asks for another protocol and came over a connection of hyper's, such as one to the server of an
/// aggregated API: what it becomes goes on over that connection.
async fn over_its_connection<B>(
    server: &ApiServer,
    identity: &Identity,
    parts: &Parts,
    body: B,
    connection: OnUpgrade,
) -> Result<Response<Body>, Infallible>
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: std::fmt::Display,
{
    let mut response = server.serve(identity, parts, InProcessBody(body)).await?;
    let upgraded = Upgraded::default();
    upgraded.keep(connection, &mut response);
    tokio::spawn(async move { upgraded.run().await });
    Ok(response)
}

/// Answers a request that asks for another protocol and came without a connection. Clients find the connection behind the answer with `hyper::upgrade::on`, and only a
/// connection of hyper's own has one: both ends of HTTP/1.1 are here, with a pipe between.
async fn over_a_pipe(server: ApiServer, identity: Identity, parts: Parts) -> Response<Body> {
    let (client, connection) = tokio::io::duplex(PIPE);
    let upgraded = Upgraded::default();
    let service = {
        let upgraded = upgraded.clone();
        service_fn(move |mut request: Request<Incoming>| {
            let (server, identity, upgraded) = (server.clone(), identity.clone(), upgraded.clone());
            async move {
                let on_upgrade = hyper::upgrade::on(&mut request);
                let (parts, _) = request.into_parts();
                let mut response = server.serve(&identity, &parts, Bytes::new()).await?;
                upgraded.keep(on_upgrade, &mut response);
                Ok::<_, Infallible>(response)
            }
        })
    };
    tokio::spawn(async move {
        let serving = http1::Builder::new().serve_connection(TokioIo::new(connection), service);
        let _ = serving.with_upgrades().await;
        upgraded.run().await;
    });
    match ask_over_a_pipe(client, parts).await {
        Ok(response) => response,
        Err(error) => respond::text(StatusCode::INTERNAL_SERVER_ERROR, error.to_string()),
    }
}

async fn ask_over_a_pipe(pipe: DuplexStream, parts: Parts) -> hyper::Result<Response<Body>> {
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(pipe)).await?;
    tokio::spawn(connection.with_upgrades());
    let mut request = Request::from_parts(parts, Empty::<Bytes>::new());
    *request.version_mut() = Version::HTTP_11;
    let response = sender.send_request(request).await?;
    let (head, body) = response.into_parts();
    // A body that breaks off ends here: it is that of a watch, which ends whenever it likes.
    let body = BodyDataStream::new(body).filter_map(|piece| ready(piece.ok()));
    Ok(Response::from_parts(head, Body::stream(body)))
}
