//! Connections to containers that are processes, for whoever has clients that want them: commands, attaching, ports.

use std::fmt;
use std::io;
use std::sync::{Arc, OnceLock, Weak};

use kubewright_apimachinery::go::quote;
use kubewright_runtime::object::ObjectKey;
use tokio::net::TcpStream;

use super::command::{self, CommandEnd, CommandStreams, ContainerCommand};
use super::console::Detached;
use super::run::Run;
use super::runner::Runner;
use super::running::Running;

/// The containers that are processes. There are some once the controllers run that [`Processes`](super::Processes) were given to.
#[derive(Clone, Default)]
pub struct Containers(Arc<OnceLock<Weak<Runner>>>);

impl fmt::Debug for Containers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Containers").finish_non_exhaustive()
    }
}

impl Containers {
    /// Names who runs them.
    pub(super) fn run_by(&self, runner: &Arc<Runner>) {
        // The first controllers with these processes have them.
        let _ = self.0.set(Arc::downgrade(runner));
    }

    /// A Pod with containers that are processes, or would be if they could be started; `None` if all of its containers are simulated.
    pub fn pod(&self, namespace: &str, name: &str, uid: &str) -> Option<PodProcesses> {
        let runner = self.0.get()?.upgrade()?;
        let running = runner.known(&ObjectKey::namespaced(namespace, name))?;
        (running.uid == uid).then_some(PodProcesses { runner, running })
    }
}

/// A Pod whose containers are processes.
#[derive(Clone)]
pub struct PodProcesses {
    runner: Arc<Runner>,
    running: Arc<Running>,
}

impl fmt::Debug for PodProcesses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("PodProcesses").field(&self.running.key).finish()
    }
}

impl PodProcesses {
    /// Runs a command: the binary of the container's image with other arguments, as the container's own process was started. Of other
    /// programs there are those that `kubectl cp` needs, and no more. Dropping the future ends the command with all that it started, and so
    /// does the end of the container.
    pub async fn exec(self, command: ContainerCommand, streams: CommandStreams) -> CommandEnd {
        match self.run(&command.container) {
            Ok(run) => command::run(self.runner, run, command, streams).await,
            Err(why) => CommandEnd::Failed(why),
        }
    }

    /// Connects a client to the process of a container until one of them ends: what the client sends is what the process reads, if the
    /// container has `stdin`, and what the process writes from now on is what the client gets.
    pub async fn attach(self, container: &str, streams: CommandStreams) -> CommandEnd {
        let run = match self.run(container) {
            Ok(run) => run,
            Err(why) => return CommandEnd::Failed(why),
        };
        match run.console.attach(streams).await {
            Detached::Ended => CommandEnd::Exited(0),
            Detached::TooSlow => {
                CommandEnd::Failed("the client did not read what the container wrote, and was let go".to_owned())
            }
        }
    }

    /// Connects to a port that a process of the Pod listens on. Others are refused, whoever listens there on this machine.
    pub async fn connect(self, port: u16) -> io::Result<TcpStream> {
        let refused = || {
            // As in a namespace of its own, where nobody listens.
            let message = format!("dial tcp4 127.0.0.1:{port}: connect: connection refused");
            io::Error::new(io::ErrorKind::ConnectionRefused, message)
        };
        for address in self.addresses(port).await {
            let Ok(stream) = TcpStream::connect(address).await else {
                continue;
            };
            // Who listens may be another by now.
            if self.addresses(port).await.contains(&address) {
                return Ok(stream);
            }
        }
        Err(refused())
    }

    /// The addresses at which processes of the Pod listen on a port, and nobody else.
    #[cfg(target_os = "linux")]
    async fn addresses(&self, port: u16) -> Vec<std::net::SocketAddr> {
        let groups = self.running.groups();
        let found = tokio::task::spawn_blocking(move || super::listening::addresses(&groups, port));
        found.await.unwrap_or_default()
    }

    /// The address of a port that a container of the Pod declares, which was free when the container was started.
    #[cfg(not(target_os = "linux"))]
    async fn addresses(&self, port: u16) -> Vec<std::net::SocketAddr> {
        let is_own = self.runner.holds(&self.running.key, port);
        let address = std::net::SocketAddr::from((std::net::Ipv4Addr::LOCALHOST, port));
        is_own.then_some(address).into_iter().collect()
    }

    /// The run of a container that runs; the error says in the words of a node why there is none.
    fn run(&self, container: &str) -> Result<Arc<Run>, String> {
        self.running.run_of(container).ok_or_else(|| {
            if self.running.has(container) {
                format!("container not found ({})", quote(container))
            } else {
                format!(
                    "container {container} of Pod {} is simulated, there is no process to connect to: load its image with `kubewright image \
                     load`",
                    self.running.key.name()
                )
            }
        })
    }
}
