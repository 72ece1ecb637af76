// SPDX-License-Identifier: Apache-2.0

//! A broker behind HTTP: `PUT /topics/NAME` and `DELETE /topics/NAME?owner=UID`.

use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, StatusCode, Uri};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use kubewright::serde_json;

use super::{Answer, Broker, BrokerError, Topic};

/// The variable that says where the broker is.
pub const URL_VARIABLE: &str = "BROKER_URL";
/// Where it is if nobody says so.
const DEFAULT_URL: &str = "http://broker.stream-system.svc:8080";
/// A broker that has not answered by then counts as unavailable.
const PATIENCE: Duration = Duration::from_secs(10);
/// More of an answer is not read.
const LONGEST_ANSWER: usize = 4096;

/// A broker that is reached by plain HTTP. TLS is for a proxy beside it.
#[derive(Clone, Debug)]
pub struct HttpBroker {
    url: String,
    client: Client<HttpConnector, Full<Bytes>>,
}

impl HttpBroker {
    /// A broker at an address as `http://broker:8080`. A mistake in it shows when the broker is first needed.
    pub fn new(url: impl Into<String>) -> Self {
        HttpBroker {
            url: url.into(),
            client: Client::builder(TokioExecutor::new()).build_http(),
        }
    }

    /// The broker that `BROKER_URL` names.
    pub fn from_environment() -> Self {
        let said = std::env::var(URL_VARIABLE).ok().filter(|url| !url.is_empty());
        Self::new(said.unwrap_or_else(|| DEFAULT_URL.to_owned()))
    }

    fn uri(&self, rest: &str) -> Result<Uri, BrokerError> {
        let url = self.url.trim_end_matches('/');
        let wrong = |why: &str| BrokerError::Refused(format!("{URL_VARIABLE} is {url:?}: {why}"));
        if !url.starts_with("http://") {
            return Err(wrong("it has to begin with http://"));
        }
        let uri = format!("{url}/topics/{rest}");
        uri.parse().map_err(|_| wrong("it is not an address"))
    }

    async fn call(&self, method: Method, name: &str, rest: &str, body: Vec<u8>) -> Result<(), BrokerError> {
        let request = Request::builder()
            .method(method)
            .uri(self.uri(rest)?)
            .header(http::header::CONTENT_TYPE, "application/json")
            .body(Full::new(Bytes::from(body)))
            .map_err(|error| BrokerError::Refused(error.to_string()))?;
        let asking = async {
            let answer = self.client.request(request).await.map_err(|error| self.away(&error))?;
            let status = answer.status();
            let text = Limited::new(answer.into_body(), LONGEST_ANSWER).collect().await;
            let text = text.map(|text| text.to_bytes()).unwrap_or_default();
            Ok((status, String::from_utf8_lossy(&text).trim().to_owned()))
        };
        let late = |_| BrokerError::Unavailable(format!("no answer from {} in {PATIENCE:?}", self.url));
        let (status, text) = tokio::time::timeout(PATIENCE, asking).await.map_err(late)??;
        match status {
            status if status.is_success() => Ok(()),
            StatusCode::CONFLICT => Err(BrokerError::Taken(name.to_owned())),
            status if status.is_client_error() => Err(BrokerError::Refused(format!("{status}: {text}"))),
            status => Err(BrokerError::Unavailable(format!("{status}: {text}"))),
        }
    }

    fn away(&self, error: &dyn std::error::Error) -> BrokerError {
        let mut text = format!("{}: {error}", self.url);
        let mut source = error.source();
        while let Some(error) = source {
            text = format!("{text}: {error}");
            source = error.source();
        }
        BrokerError::Unavailable(text)
    }
}

impl Broker for HttpBroker {
    fn ensure<'a>(&'a self, name: &'a str, wanted: &'a Topic) -> Answer<'a> {
        Box::pin(async move {
            let body = serde_json::to_vec(wanted).map_err(|error| BrokerError::Refused(error.to_string()))?;
            self.call(Method::PUT, name, name, body).await
        })
    }

    fn remove<'a>(&'a self, name: &'a str, owner: &'a str) -> Answer<'a> {
        Box::pin(async move {
            let rest = format!("{name}?owner={owner}");
            self.call(Method::DELETE, name, &rest, Vec::new()).await
        })
    }
}
