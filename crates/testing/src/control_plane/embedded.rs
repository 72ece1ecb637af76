//! The embedded server, in this process.

use std::sync::OnceLock;

use kubewright_apiserver::{ApiServer, ListenOptions, Listener, Options, User};
use kubewright_runtime::clock::Clock;
use tokio::sync::Mutex;

use super::certificates::{Authority, PemPair};
use crate::Error;
use crate::traffic::{self, Traffic};

/// The name of authorities that a listener takes.
const LISTENER: &str = "kubewright-ca";

pub(crate) struct Embedded {
    server: ApiServer,
    /// The listener for clients outside this process, started when first needed.
    listener: Mutex<Option<Listener>>,
    /// The authority of the listener and of its clients, made when first needed.
    authority: OnceLock<PemPair>,
}

impl Embedded {
    pub(super) fn new(seed: Option<u64>, clock: Clock) -> Self {
        let mut options = Options::new().epoch(clock.now());
        if let Some(seed) = seed {
            options = options.seed(seed);
        }
        Self::of(ApiServer::new(options))
    }

    pub(crate) fn of(server: ApiServer) -> Self {
        Embedded {
            server,
            listener: Mutex::new(None),
            authority: OnceLock::new(),
        }
    }

    pub(super) fn server(&self) -> &ApiServer {
        &self.server
    }

    pub(super) fn user(&self, name: &str, groups: &[String]) -> kube::Client {
        self.server.client_as(User::new(name, groups))
    }

    pub(super) fn account(&self, namespace: &str, name: &str, traffic: &Traffic) -> kube::Client {
        let service = self.server.service_as(User::service_account(namespace, name));
        traffic::client(service, traffic.clone(), self.server.client(), namespace)
    }

    /// The authority of the listener and of its clients. Controllers sign with it before anybody listens.
    pub(super) fn authority(&self) -> Result<&PemPair, Error> {
        if let Some(made) = self.authority.get() {
            return Ok(made);
        }
        let Authority { certificate, key, .. } = Authority::new(LISTENER)?;
        Ok(self.authority.get_or_init(|| PemPair { certificate, key }))
    }

    pub(super) async fn kubeconfig(&self) -> Result<String, Error> {
        if crate::time::is_paused() {
            return Err(Error::Paused("listening for clients outside this process"));
        }
        let mut listener = self.listener.lock().await;
        if let Some(listener) = &*listener {
            return Ok(listener.kubeconfig());
        }
        // Boxed: its type would be too deep for the compiler in a future that is deep itself.
        let PemPair { certificate, key } = self.authority()?;
        let options = ListenOptions::default().authority(certificate, key);
        let listening = Box::pin(self.server.listen(options)).await;
        let listening = listening.map_err(|error| Error::ControlPlane(error.to_string()))?;
        let kubeconfig = listening.kubeconfig();
        *listener = Some(listening);
        Ok(kubeconfig)
    }

    pub(super) async fn stop(self) {
        if let Some(listener) = self.listener.into_inner() {
            listener.shutdown().await;
        }
    }
}
