//! The embedded server, in this process.

use kubewright_apiserver::{AdmissionPlugin, ApiServer, ListenOptions, Listener, Options, User};
use kubewright_controllers::SigningAuthority;
use kubewright_runtime::clock::Clock;
use tokio::sync::Mutex;

use crate::Error;
use crate::traffic::{self, Rewrite, Traffic};

pub(crate) struct Embedded {
    server: ApiServer,
    /// The listener for clients outside this process, started when first needed.
    listener: Mutex<Option<Listener>>,
    /// Signs the certificates of the listener's clients and those that are asked for through the API. Most tests need neither.
    authority: SigningAuthority,
    /// What happens to the objects that the test writes.
    rewrite: Option<Rewrite>,
}

impl Embedded {
    pub(super) fn new(seed: Option<u64>, clock: Clock, admission: &[(AdmissionPlugin, bool)]) -> Self {
        let mut options = Options::new().epoch(clock.now());
        for (plugin, is_on) in admission {
            options = options.admission(*plugin, *is_on);
        }
        if let Some(seed) = seed {
            options = options.seed(seed);
        }
        Self::of(ApiServer::new(options))
    }

    pub(crate) fn of(server: ApiServer) -> Self {
        Embedded {
            server,
            listener: Mutex::new(None),
            authority: SigningAuthority::made_when_needed(),
            rewrite: None,
        }
    }

    /// A server to which the test's own writes come changed.
    pub(crate) fn rewriting(mut self, rewrite: Option<Rewrite>) -> Self {
        self.rewrite = rewrite;
        self
    }

    pub(super) fn admin(&self) -> kube::Client {
        match &self.rewrite {
            Some(rewrite) => traffic::rewriting_client(&self.server, Rewrite::clone(rewrite)),
            None => self.server.client(),
        }
    }

    pub(super) fn server(&self) -> &ApiServer {
        &self.server
    }

    pub(super) fn signing_authority(&self) -> &SigningAuthority {
        &self.authority
    }

    pub(super) fn user(&self, name: &str, groups: &[String]) -> kube::Client {
        self.server.client_as(User::new(name, groups))
    }

    pub(super) fn account(&self, namespace: &str, name: &str, traffic: &Traffic) -> kube::Client {
        let service = self.server.service_as(User::service_account(namespace, name));
        traffic::client(service, traffic.clone(), self.server.client(), namespace)
    }

    pub(super) async fn kubeconfig(&self) -> Result<String, Error> {
        if crate::time::is_paused() {
            return Err(Error::Paused("listening for clients outside this process"));
        }
        let mut listener = self.listener.lock().await;
        if let Some(listener) = &*listener {
            return Ok(listener.kubeconfig());
        }
        let failed = |error: &dyn std::error::Error| Error::ControlPlane(error.to_string());
        let (certificate, key) = self.authority.pem().map_err(|error| failed(&error))?;
        let options = ListenOptions::from(0).authority(certificate, key);
        // Boxed: its type would be too deep for the compiler in a future that is deep itself.
        let listening = Box::pin(self.server.listen(options)).await;
        let listening = listening.map_err(|error| failed(&error))?;
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
