//! What stands behind the containers of Pods, for clients that connect to them: what tests and programs register for single Pods, and
//! whatever runs containers.

use std::collections::HashMap;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use kubewright_store::Store;
use parking_lot::RwLock;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite, DuplexStream, ReadBuf, duplex};
use tokio::task::JoinSet;

use super::Connection;
use super::exec::{ExecCommand, ExecEnd, ExecFuture, ExecStreams};
use crate::object;
use crate::registry::BuiltInId;
use crate::server::ApiServer;

/// How many bytes wait in each direction of a connection to what was registered for a port.
const BUFFER: usize = 64 * 1024;

/// Whatever runs the containers of Pods. It is asked for Pods, and within a Pod for what nothing was registered for
/// ([`ApiServer::on_exec`], [`ApiServer::on_attach`], [`ApiServer::on_connect`]).
pub trait ContainerBackend: Send + Sync {
    /// What stands behind the containers of a Pod; `None` if nothing does: they are simulated, and clients are told so.
    ///
    /// It is asked before a connection is accepted, for each of them, and must answer at once. The Pod exists and is bound to a node.
    fn pod(&self, pod: &PodIdentity) -> Option<Arc<dyn PodBackend>>;
}

/// What stands behind the containers of a Pod.
///
/// The server watches the Pod and drops what these functions return when the Pod is gone, when the client is, when the client's token
/// expires and when the listener stops. Nothing is told besides: what a command holds must be let go of when its future is dropped.
pub trait PodBackend: Send + Sync {
    /// Runs a command in a container, until it ends and all that it wrote is in the streams. The streams are dropped with the future
    /// at the latest; what was written before is still sent.
    fn exec(&self, command: ExecCommand, streams: ExecStreams) -> ExecFuture;

    /// Connects a client to the first process of a container: what the client sends is its input, what it writes from now on is sent.
    /// Ends when the process does: [`ExecEnd::Exited`] (of any code: clients are not told) or [`ExecEnd::Failed`] where there is nothing
    /// to connect to. Dropping it lets go of the process, which goes on.
    fn attach(&self, target: AttachTarget, streams: ExecStreams) -> ExecFuture;

    /// Connects to a port on which a process of the Pod listens.
    ///
    /// The server checks nothing of the port but that it is one. The backend must connect only to what the Pod's own processes
    /// listen on, and fail with [`io::ErrorKind::ConnectionRefused`] for every other port: Pods share the addresses of the machine. Shutting
    /// down the write half of the connection is passed on as such; the other half goes on.
    fn connect_port(&self, port: u16) -> PortFuture;
}

/// A connection on its way.
pub type PortFuture = Pin<Box<dyn Future<Output = io::Result<Box<dyn Connection>>> + Send>>;

/// Which Pod.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct PodIdentity {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its uid: a Pod of the same name may have been before.
    pub uid: String,
}

/// The container that a client attaches to.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AttachTarget {
    /// The namespace of the Pod.
    pub namespace: String,
    /// The name of the Pod.
    pub pod: String,
    /// The uid of the Pod.
    pub uid: String,
    /// The container: the one that was asked for, or the only one. It is one of the Pod; whether it runs is for the answerer to know.
    pub container: String,
    /// Whether the client has a terminal. Upstream's clients ask for what the container has.
    pub tty: bool,
    /// Whether the client sends anything.
    pub stdin: bool,
    /// Whether what the client sends has an end other than that of the connection, as [`ExecCommand::stdin_ends`].
    pub stdin_ends: bool,
}

type OnExec = Arc<dyn Fn(ExecCommand, ExecStreams) -> ExecFuture + Send + Sync>;
type OnAttach = Arc<dyn Fn(AttachTarget, ExecStreams) -> ExecFuture + Send + Sync>;
type IsMeant = Arc<dyn Fn(&Value) -> bool + Send + Sync>;
type OnConnect = Arc<dyn Fn(Box<dyn Connection>) -> Pin<Box<dyn Future<Output = ()> + Send>> + Send + Sync>;

/// What was registered for a Pod.
#[derive(Clone, Default)]
struct Registered {
    exec: Option<OnExec>,
    attach: Option<OnAttach>,
    ports: HashMap<u16, OnConnect>,
}

/// Who answers connections to containers.
#[derive(Default)]
pub(crate) struct Containers {
    /// By the key of the Pod.
    registered: RwLock<HashMap<String, Registered>>,
    /// For Pods that something is true of, the newest last.
    exec_where: RwLock<Vec<(IsMeant, OnExec)>>,
    backend: RwLock<Option<Arc<dyn ContainerBackend>>>,
}

impl Containers {
    /// Those of a fork: what was registered answers there, too. The backend's containers are those of this server, not of a copy.
    pub(crate) fn fork(&self) -> Self {
        Containers {
            registered: RwLock::new(self.registered.read().clone()),
            exec_where: RwLock::new(self.exec_where.read().clone()),
            backend: RwLock::default(),
        }
    }

    /// What stands behind a Pod of a store.
    pub(crate) fn of(&self, store: &Store, pod: &PodIdentity) -> PodContainers {
        let key = object::key(&pod.namespace, &pod.name);
        let mut registered = self.registered.read().get(&key).cloned().unwrap_or_default();
        if registered.exec.is_none() {
            registered.exec = self.exec_where(store, &key);
        }
        let backend = self.backend.read().clone();
        PodContainers {
            registered,
            backend: backend.and_then(|backend| backend.pod(pod)),
        }
    }

    /// What answers commands in a Pod because something is true of it.
    fn exec_where(&self, store: &Store, key: &str) -> Option<OnExec> {
        let answers = self.exec_where.read().clone();
        if answers.is_empty() {
            return None;
        }
        let pods = BuiltInId::Pods.resource();
        let record = store.get(pods.table, key)?;
        let pod = object::to_value(pods, &record, record.revision);
        let (_, run) = answers.into_iter().rev().find(|(is_meant, _)| is_meant(&pod))?;
        Some(run)
    }

    fn register(&self, namespace: &str, pod: &str, change: impl FnOnce(&mut Registered)) {
        change(self.registered.write().entry(object::key(namespace, pod)).or_default());
    }
}

/// What stands behind the containers of one Pod.
#[derive(Clone)]
pub(crate) struct PodContainers {
    registered: Registered,
    backend: Option<Arc<dyn PodBackend>>,
}

impl PodContainers {
    /// Who runs commands.
    pub(crate) fn exec(&self) -> Option<OnExec> {
        let by_backend = self
            .backend
            .clone()
            .map(|backend| -> OnExec { Arc::new(move |command, streams| backend.exec(command, streams)) });
        self.registered.exec.clone().or(by_backend)
    }

    /// Who answers for the first processes of containers.
    pub(crate) fn attach(&self) -> Option<OnAttach> {
        let by_backend = self
            .backend
            .clone()
            .map(|backend| -> OnAttach { Arc::new(move |target, streams| backend.attach(target, streams)) });
        self.registered.attach.clone().or(by_backend)
    }

    /// Whether there may be something that listens on a port.
    pub(crate) fn may_listen(&self) -> bool {
        self.backend.is_some() || !self.registered.ports.is_empty()
    }

    /// Connects to what listens on a port.
    pub(crate) async fn connect(&self, port: u16) -> io::Result<Box<dyn Connection>> {
        match (self.registered.ports.get(&port), &self.backend) {
            (Some(serve), _) => {
                let (client, server) = duplex(BUFFER);
                let mut serving = JoinSet::new();
                serving.spawn(serve(Box::new(server)));
                Ok(Box::new(Served {
                    connection: client,
                    _serving: serving,
                }))
            }
            (None, Some(backend)) => backend.connect_port(port).await,
            (None, None) => Err(io::Error::new(
                io::ErrorKind::ConnectionRefused,
                "connection refused: nothing listens on that port",
            )),
        }
    }
}

/// A connection to what was registered for a port, which ends with it.
struct Served {
    connection: DuplexStream,
    _serving: JoinSet<()>,
}

impl AsyncRead for Served {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, to: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.connection).poll_read(context, to)
    }
}

impl AsyncWrite for Served {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.connection).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.connection).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.connection).poll_shutdown(context)
    }
}

impl ApiServer {
    /// Has `run` answer the commands that clients run in the containers of a Pod (`kubectl exec`, `Api::exec`), in place of what
    /// answered them before. The Pod need not exist yet, and is another one once it was deleted and created again: `run` answers for
    /// all Pods of that name.
    ///
    /// ```
    /// use kubewright_apiserver::{ApiServer, ExecEnd, Options};
    /// use tokio::io::AsyncWriteExt as _;
    ///
    /// let server = ApiServer::new(Options::new());
    /// server.on_exec("default", "database-0", |command, mut streams| async move {
    ///     match command.command.iter().map(String::as_str).collect::<Vec<_>>()[..] {
    ///         ["pg_isready"] => {
    ///             let _ = streams.stdout.write_all(b"accepting connections\n").await;
    ///             ExecEnd::Exited(0)
    ///         }
    ///         _ => ExecEnd::Exited(127),
    ///     }
    /// });
    /// ```
    pub fn on_exec<F, Fut>(&self, namespace: &str, pod: &str, run: F)
    where
        F: Fn(ExecCommand, ExecStreams) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = ExecEnd> + Send + 'static,
    {
        let run: OnExec = Arc::new(move |command, streams| Box::pin(run(command, streams)));
        let containers = &self.server.containers;
        containers.register(namespace, pod, |registered| registered.exec = Some(run));
    }

    /// As [`on_exec`](Self::on_exec), for all Pods of which `is_meant` is true, such as those of a Deployment, whose names nobody knows
    /// before. What is registered for the name of a Pod comes first, then what was registered last.
    ///
    /// ```
    /// use kubewright_apiserver::{ApiServer, ExecEnd, Options};
    ///
    /// let server = ApiServer::new(Options::new());
    /// let is_web = |pod: &serde_json::Value| pod["metadata"]["labels"]["app"] == "web";
    /// server.on_exec_where(is_web, |_, _| async { ExecEnd::Failed("the node is out of memory".to_owned()) });
    /// ```
    pub fn on_exec_where<P, F, Fut>(&self, is_meant: P, run: F)
    where
        P: Fn(&Value) -> bool + Send + Sync + 'static,
        F: Fn(ExecCommand, ExecStreams) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = ExecEnd> + Send + 'static,
    {
        let run: OnExec = Arc::new(move |command, streams| Box::pin(run(command, streams)));
        let mut answers = self.server.containers.exec_where.write();
        answers.push((Arc::new(is_meant), run));
    }

    /// Has `run` stand for the first process of each container of a Pod, for clients that attach to it (`kubectl attach`,
    /// `Api::attach`); it is called for each client. As for [`on_exec`](Self::on_exec), the Pod need not exist yet.
    pub fn on_attach<F, Fut>(&self, namespace: &str, pod: &str, run: F)
    where
        F: Fn(AttachTarget, ExecStreams) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = ExecEnd> + Send + 'static,
    {
        let run: OnAttach = Arc::new(move |target, streams| Box::pin(run(target, streams)));
        let containers = &self.server.containers;
        containers.register(namespace, pod, |registered| registered.attach = Some(run));
    }

    /// Has `serve` stand for a process of a Pod that listens on a port, for clients that connect to it through the API server
    /// (`kubectl port-forward`, `Api::portforward`, and the proxies to Pods and Services); it is called for each connection. As for
    /// [`on_exec`](Self::on_exec), the Pod need not exist yet.
    pub fn on_connect<F, Fut>(&self, namespace: &str, pod: &str, port: u16, serve: F)
    where
        F: Fn(Box<dyn Connection>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        let serve: OnConnect = Arc::new(move |connection| Box::pin(serve(connection)));
        let containers = &self.server.containers;
        containers.register(namespace, pod, |registered| {
            registered.ports.insert(port, serve);
        });
    }

    /// Has `backend` answer for the containers of the Pods that it runs, in place of the backend before. A fork of the server has none: the
    /// containers are this server's.
    pub fn set_container_backend(&self, backend: Arc<dyn ContainerBackend>) {
        *self.server.containers.backend.write() = Some(backend);
    }
}
