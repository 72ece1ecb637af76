//! A webhook outside the cluster, to which the server says who it is.

use std::fmt;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use http::HeaderValue;
use kubewright_admission::{ClientConfig, Endpoint};
use kubewright_system::clock::Clock;
use parking_lot::Mutex;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::time::Instant;

use super::target::Target;
use super::{CallError, OneCall, WebhookClient};
use crate::server::Server;
use crate::service::tls::{self, Trust};

/// How often a webhook is called that fails for a moment.
const ATTEMPTS: u32 = 5;

/// Who the server trusts, and by what it is known itself.
#[derive(Clone, Default)]
pub(crate) struct Credentials {
    /// Certificates in PEM; those that the system trusts if it is empty.
    pub(crate) authority: Vec<u8>,
    pub(crate) trusts_anybody: bool,
    /// The certificate of the server and those that it was signed by, in PEM.
    pub(crate) certificate: Option<Vec<u8>>,
    pub(crate) key: Option<Vec<u8>>,
    pub(crate) token: Option<String>,
}

/// Posts to one webhook, over connections that are kept.
#[derive(Clone)]
pub(crate) struct Caller {
    target: Target,
    credentials: Credentials,
    authorization: Option<HeaderValue>,
    client: Arc<OnceLock<WebhookClient>>,
}

impl Caller {
    /// A caller of the webhook at an address. The error says what of this cannot be used.
    pub(crate) fn new(address: &str, credentials: Credentials) -> Result<Caller, String> {
        let config = ClientConfig {
            endpoint: Endpoint::Url(address.to_owned()),
            ca_bundle: Vec::new(),
        };
        let target = Target::of(&config)?;
        let mut authorization = None;
        // A secret is not sent where everybody can read it.
        if let Some(token) = credentials.token.as_ref().filter(|_| target.tls) {
            let mut header = HeaderValue::try_from(format!("Bearer {token}")).map_err(|error| error.to_string())?;
            header.set_sensitive(true);
            authorization = Some(header);
        }
        let caller = Caller {
            target,
            credentials,
            authorization,
            client: Arc::default(),
        };
        caller.tls(Clock::system())?;
        Ok(caller)
    }

    fn tls(&self, clock: Clock) -> Result<Arc<rustls::ClientConfig>, String> {
        let Credentials {
            authority,
            trusts_anybody,
            certificate,
            key,
            ..
        } = &self.credentials;
        let trust = if *trusts_anybody {
            Trust::Anybody
        } else {
            Trust::Bundle(authority)
        };
        let identity = match (certificate, key) {
            (Some(certificate), Some(key)) => {
                let chain = CertificateDer::pem_slice_iter(certificate).collect::<Result<Vec<_>, _>>();
                let chain = chain.map_err(|error| format!("client-certificate: {error}"))?;
                let key = PrivateKeyDer::from_pem_slice(key).map_err(|error| format!("client-key: {error}"))?;
                Some((chain, key))
            }
            _ => None,
        };
        tls::config(trust, identity, clock)
    }

    /// Posts a JSON document and returns the body of a successful response.
    pub(crate) async fn post(&self, server: &Server, document: Vec<u8>, timeout: Duration) -> Result<Bytes, CallError> {
        let tls = self.tls(server.clock).map_err(CallError::NoClient)?;
        let client = self.client.get_or_init(|| WebhookClient {
            target: self.target.clone(),
            tls: OnceLock::from(tls),
            clock: server.clock,
            idle: Mutex::default(),
            used: Mutex::new(Instant::now()),
        });
        let call = OneCall {
            server,
            client,
            document: document.into(),
            query: format!("timeout={}s", timeout.as_secs()),
            authorization: self.authorization.as_ref(),
            reading: AtomicBool::new(false),
        };
        call.within(timeout).await
    }
}

impl Caller {
    /// Posts, again and again where another attempt may succeed: as often as upstream's webhooks do, and with pauses that grow.
    pub(crate) async fn post_repeatedly(
        &self,
        server: &Server,
        document: &[u8],
        timeout: Duration,
        mut pause: Duration,
    ) -> Result<Bytes, CallError> {
        let mut attempt = 1;
        loop {
            match self.post(server, document.to_vec(), timeout).await {
                Err(error) if attempt < ATTEMPTS && error.is_passing() => {
                    tokio::time::sleep(server.random.jittered(pause, 0.2)).await;
                    pause = pause * 3 / 2;
                    attempt += 1;
                }
                outcome => return outcome,
            }
        }
    }
}

impl fmt::Debug for Caller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Caller")
            .field("target", &self.target)
            .finish_non_exhaustive()
    }
}
