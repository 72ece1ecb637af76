//! Requests of others than the manager: they count as activity, but are not recorded.

use bytes::Bytes;
use http::{Request, Response};
use kube::client::{Body, ClientBuilder};
use tower::util::MapResponseLayer;
use tower::{BoxError, Service};

use super::Traffic;

/// A client whose answers count as activity: a test that settles waits for them, too.
pub(crate) fn observed_client<S, B>(service: S, traffic: Traffic) -> kube::Client
where
    S: Service<Request<Body>, Response = Response<B>> + Clone + Send + 'static,
    S::Future: Send + 'static,
    S::Error: Into<BoxError>,
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    let beat = move |answer: Response<B>| {
        traffic.note_activity();
        answer
    };
    ClientBuilder::new(service, "default")
        .with_layer(&MapResponseLayer::new(beat))
        .build()
}
