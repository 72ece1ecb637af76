//! Delegated access: the API server of the cluster knows the clients of an aggregated API and what they may do. Defaults and order
//! are those of `k8s.io/apiserver`.

mod reviews;
mod trust;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use http::HeaderMap;
use kubewright_apiserver::{Attributes, Decision, DelegatedAccess, FrontProxyHeaders, InvalidCertificate, User};
use kubewright_runtime::stop::Stop;
use parking_lot::RwLock;
use rustls::pki_types::CertificateDer;

use reviews::Reviews;
use trust::Trust;

/// How long answers about clients are believed, and what nobody is asked about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DelegationOptions {
    /// How long the review of a token counts. Default: 10 seconds.
    pub tokens: Duration,
    /// How long a permission counts. Default: 10 seconds.
    pub allowed: Duration,
    /// How long a refusal counts. Default: 10 seconds.
    pub denied: Duration,
    /// Paths that everybody may use. Default: `/healthz`, `/readyz` and `/livez`.
    pub always_allowed_paths: Vec<String>,
}

impl Default for DelegationOptions {
    fn default() -> Self {
        DelegationOptions {
            tokens: Duration::from_secs(10),
            allowed: Duration::from_secs(10),
            denied: Duration::from_secs(10),
            always_allowed_paths: ["/healthz", "/readyz", "/livez"].map(str::to_owned).to_vec(),
        }
    }
}

/// Asks the API server of a cluster who the clients of an aggregated API are and what they may do.
///
/// - A proxy whose certificate is of the authority for front proxies says in headers whom a request is of. That authority, the names
///   it may have and the headers are read from the `ConfigMap` `kube-system/extension-apiserver-authentication`, and read again when
///   it changes.
/// - A client certificate is one of the cluster's authority for clients, from the same `ConfigMap`.
/// - A bearer token is reviewed (`TokenReview`).
/// - What a user may do is reviewed (`SubjectAccessReview`), but for the paths that everybody may use and for `system:masters`.
///
/// The account it runs as needs the cluster role `system:auth-delegator`, and the role
/// `extension-apiserver-authentication-reader` in `kube-system`.
pub struct Delegation {
    kube: kube::Client,
    trust: RwLock<Arc<Trust>>,
    reviews: Reviews,
    options: DelegationOptions,
    /// Whether the only client is an API server of this process.
    in_process: bool,
}

impl Delegation {
    /// Asks this API server. Until [`follow`](Self::follow) has read the `ConfigMap`, no certificate is trusted.
    pub fn new(kube: kube::Client, options: DelegationOptions) -> Self {
        Delegation {
            reviews: Reviews::new(kube.clone(), &options),
            kube,
            trust: RwLock::new(Arc::new(Trust::default())),
            options,
            in_process: false,
        }
    }

    /// Believes the headers of every request, for a server that only an API server in the same process can reach.
    pub(crate) fn believing_headers(mut self) -> Self {
        self.in_process = true;
        self
    }

    /// Reads whom to trust, and reads it again when it changes, until asked to stop.
    pub async fn follow(&self, stop: Stop) {
        tokio::select! {
            biased;
            () = stop.stopped() => {}
            () = trust::follow(&self.kube, |trust| *self.trust.write() = Arc::new(trust)) => {}
        }
    }

    /// Whether it is known whom to trust.
    pub fn is_ready(&self) -> bool {
        self.trust.read().is_known()
    }
}

impl DelegatedAccess for Delegation {
    fn by_certificate(
        &self,
        chain: &[CertificateDer<'static>],
        headers: &HeaderMap,
    ) -> Result<Option<User>, InvalidCertificate> {
        if self.in_process {
            return Ok(FrontProxyHeaders::usual().user(headers));
        }
        let trust = Arc::clone(&self.trust.read());
        trust.user(chain, headers)
    }

    fn by_token<'a>(&'a self, token: &'a str) -> BoxFuture<'a, Option<User>> {
        Box::pin(self.reviews.token(token))
    }

    fn authorize<'a>(&'a self, user: &'a User, asked: &'a Attributes<'a>) -> BoxFuture<'a, Result<Decision, String>> {
        Box::pin(async move {
            let is_open = |path: &String| !asked.is_resource && **path == *asked.path;
            if self.options.always_allowed_paths.iter().any(is_open) {
                return Ok(Decision::ALLOWED);
            }
            self.reviews.access(user, asked).await
        })
    }
}

impl fmt::Debug for Delegation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Delegation")
            .field("ready", &self.is_ready())
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}
