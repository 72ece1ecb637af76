//! Requests of others than the manager: that they happen is heard, what they ask for is not kept.

use bytes::Bytes;
use http::{Request, Response};
use kube::client::{Body, ClientBuilder};
use tower::util::MapResponseLayer;
use tower::{BoxError, Service};

use super::Traffic;

/// A client whose answers are beats of the traffic. A test that waits until nothing moves hears them.
pub(crate) fn heard<S, B>(service: S, traffic: Traffic) -> kube::Client
where
    S: Service<Request<Body>, Response = Response<B>> + Clone + Send + 'static,
    S::Future: Send + 'static,
    S::Error: Into<BoxError>,
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    let beat = move |answer: Response<B>| {
        traffic.beat();
        answer
    };
    ClientBuilder::new(service, "default")
        .with_layer(&MapResponseLayer::new(beat))
        .build()
}
