//! An API server in this process, for a run without a cluster.

use std::error::Error;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use kube::Client;
use kube::api::PostParams;
use kube::core::Request;
use kubewright_apiserver::{ApiServer, ListenError, Listener, Options};
use kubewright_controllers::Controllers;
use kubewright_runtime::manager::Manager;
use kubewright_runtime::stop::Stopper;
use kubewright_system::kubeconfig::{Authority, Credentials, Kubeconfig};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::kubeconfig::{self, TemporaryFolder};
use crate::progress::Progress;
use crate::{Reference, describe_failure};

/// How long the token in the kubeconfig of an operator is valid: a year.
const TOKEN_SECONDS: i64 = 365 * 24 * 60 * 60;

/// What goes wrong with it.
#[derive(Debug, thiserror::Error)]
enum EmbeddedError {
    #[error("port {port} on {ip} is in use; --secure-port 0 picks a free one", ip = .0.ip(), port = .0.port())]
    PortInUse(SocketAddr),
    #[error("cannot make a temporary folder")]
    Folder(#[source] std::io::Error),
    #[error("cannot write the kubeconfig to {}", .0.display())]
    Kubeconfig(PathBuf, #[source] std::io::Error),
    #[error("{0} cannot get a token: {1}")]
    Token(Reference, String),
}

/// A running API server.
pub struct Embedded {
    server: ApiServer,
    listener: Listener,
    /// The administrator's kubeconfig.
    kubeconfig: PathBuf,
    /// Holds what goes with it.
    folder: TemporaryFolder,
    controllers: Option<(Stopper, JoinHandle<()>)>,
}

impl Embedded {
    /// Starts one on a port of this machine and writes its kubeconfig. Controllers, if any are wanted, run beside it.
    pub async fn start(
        port: u16,
        chosen: Option<&Path>,
        options: Options,
        controllers: &Controllers,
        progress: &Progress,
    ) -> Result<Self, Box<dyn Error>> {
        let manager = manager_of(controllers)?;
        Self::serve(new_server(options), port, chosen, manager, progress).await
    }

    /// As [`start`](Self::start) with default options, with a manager of controllers that the caller has made and can inspect.
    pub async fn start_with(
        port: u16,
        chosen: Option<&Path>,
        controllers: Option<Manager>,
        progress: &Progress,
    ) -> Result<Self, Box<dyn Error>> {
        Self::serve(new_server(Options::new()), port, chosen, controllers, progress).await
    }

    /// Serves another cluster, such as a fork, on a free port. Controllers, if any are wanted, run beside it.
    pub async fn start_server(
        server: ApiServer,
        controllers: &Controllers,
        progress: &Progress,
    ) -> Result<Self, Box<dyn Error>> {
        let manager = manager_of(controllers)?;
        Self::serve(server, 0, None, manager, progress).await
    }

    async fn serve(
        server: ApiServer,
        port: u16,
        chosen: Option<&Path>,
        controllers: Option<Manager>,
        progress: &Progress,
    ) -> Result<Self, Box<dyn Error>> {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let listener = Box::pin(server.listen(address)).await.map_err(explain)?;
        let folder = kubeconfig::temporary_folder().map_err(EmbeddedError::Folder)?;
        let path = match chosen {
            Some(path) => std::path::absolute(path).unwrap_or_else(|_| path.to_owned()),
            None => folder.path().join("kubeconfig"),
        };
        kubeconfig::write(&path, &listener.kubeconfig())
            .map_err(|error| EmbeddedError::Kubeconfig(path.clone(), error))?;
        let controllers = controllers.map(|controllers| control(controllers, &server, progress.clone()));
        Ok(Embedded {
            controllers,
            server,
            listener,
            kubeconfig: path,
            folder,
        })
    }

    /// The API server itself.
    pub fn server(&self) -> &ApiServer {
        &self.server
    }

    /// A client of the administrator, in this process.
    pub fn client(&self) -> Client {
        self.server.client()
    }

    /// The URL at which other processes reach it.
    pub fn url(&self) -> String {
        self.listener.url()
    }

    /// The administrator's kubeconfig.
    pub fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// The administrator's kubeconfig, as a shell takes it.
    pub fn export(&self) -> String {
        let path = self.kubeconfig.display().to_string();
        format!("export KUBECONFIG={}", crate::quoted(&path))
    }

    /// Writes a kubeconfig by which its bearer is a `ServiceAccount`.
    pub async fn kubeconfig_of(&self, account: &Reference) -> Result<PathBuf, Box<dyn Error>> {
        let token = self.token(account).await?;
        let own = Kubeconfig {
            context: "operator",
            cluster: "kubewright",
            user: "operator",
            namespace: Some("default"),
            server: &self.listener.url(),
            authority: Authority::Pem(self.listener.ca_pem()),
            credentials: Credentials::Token(&token),
        };
        let path = self.folder.path().join("operator.kubeconfig");
        kubeconfig::write(&path, &own.to_string()).map_err(|error| EmbeddedError::Kubeconfig(path.clone(), error))?;
        Ok(path)
    }

    async fn token(&self, account: &Reference) -> Result<String, EmbeddedError> {
        let failed = |why: String| EmbeddedError::Token(account.clone(), why);
        let namespace = account.namespace.as_deref().unwrap_or("default");
        let wanted = json!({
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenRequest",
            "spec": { "expirationSeconds": TOKEN_SECONDS },
        });
        let request = Request::new(format!("/api/v1/namespaces/{namespace}/serviceaccounts"))
            .create_subresource(
                "token",
                &account.name,
                &PostParams::default(),
                wanted.to_string().into_bytes(),
            )
            .map_err(|error| failed(error.to_string()))?;
        let answer: Value = self
            .client()
            .request(request)
            .await
            .map_err(|error| failed(describe_failure(&error)))?;
        let token = answer["status"]["token"].as_str();
        token
            .map(str::to_owned)
            .ok_or_else(|| failed("the answer holds none".to_owned()))
    }

    /// Stops answering.
    pub async fn shutdown(self) {
        if let Some((stopper, running)) = self.controllers {
            stopper.stop();
            // They have said what they had to say.
            let _ = running.await;
        }
        self.listener.shutdown().await;
    }
}

fn new_server(options: Options) -> ApiServer {
    ApiServer::new(options.aggregated_roles(true))
}

/// A manager of the controllers, if any are wanted.
fn manager_of(controllers: &Controllers) -> Result<Option<Manager>, Box<dyn Error>> {
    Ok(if controllers.is_empty() {
        None
    } else {
        Some(controllers.manager()?)
    })
}

/// Runs controllers until they are stopped.
fn control(controllers: Manager, server: &ApiServer, progress: Progress) -> (Stopper, JoinHandle<()>) {
    let (stopper, stop) = Stopper::new();
    let running = controllers.run(server.client(), stop);
    let told = async move {
        if let Err(error) = running.await {
            progress.warn(format!(
                "the cluster's own controllers ended: {}",
                crate::with_sources(&error)
            ));
        }
    };
    (stopper, tokio::spawn(told))
}

/// The error of listening, with what to do about a port that is in use.
pub fn explain(error: ListenError) -> Box<dyn Error> {
    match error {
        ListenError::Bind { address, source } if source.kind() == std::io::ErrorKind::AddrInUse => {
            EmbeddedError::PortInUse(address).into()
        }
        error => error.into(),
    }
}
