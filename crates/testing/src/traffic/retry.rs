//! The retries of a production client, without its random pauses: the same run takes the same time.

use std::time::Duration;

use http::{Request, Response, StatusCode, header};
use kube::client::Body;
use kube::client::retry::RetryPolicy;
use tokio::time::Sleep;
use tower::BoxError;
use tower::retry::Policy;

/// The first pause; each one after it is twice as long.
const FIRST: Duration = Duration::from_millis(5);
/// How often a request is repeated.
const MOST: u32 = 15;

/// As `RetryPolicy::server_retry()`: 429, 503 and 504 are tried again, when the server says or later and later.
#[derive(Clone)]
pub(super) struct SteadyRetry {
    production: RetryPolicy,
    attempts: u32,
}

impl SteadyRetry {
    pub(super) fn new() -> Self {
        SteadyRetry {
            production: RetryPolicy::server_retry(),
            attempts: 0,
        }
    }
}

impl<B> Policy<Request<Body>, Response<B>, BoxError> for SteadyRetry {
    type Future = Sleep;

    fn retry(&mut self, _: &mut Request<Body>, result: &mut Result<Response<B>, BoxError>) -> Option<Sleep> {
        let answer = result.as_ref().ok()?;
        let is_retried = matches!(
            answer.status(),
            StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE | StatusCode::GATEWAY_TIMEOUT
        );
        if !is_retried || self.attempts >= MOST {
            return None;
        }
        let pause = FIRST * 2_u32.pow(self.attempts);
        self.attempts += 1;
        let after = answer.headers().get(header::RETRY_AFTER);
        let asked = after
            .and_then(|after| after.to_str().ok()?.parse().ok())
            .map(Duration::from_secs);
        Some(tokio::time::sleep(asked.map_or(pause, |asked| asked.max(pause))))
    }

    fn clone_request(&mut self, request: &Request<Body>) -> Option<Request<Body>> {
        Policy::<Request<Body>, Response<B>, BoxError>::clone_request(&mut self.production, request)
    }
}
