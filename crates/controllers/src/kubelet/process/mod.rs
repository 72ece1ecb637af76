//! Containers as processes of this machine, for Pods whose images were loaded as binaries. Off unless asked for.
#![doc = include_str!("process.md")]

mod action;
mod atomic;
mod command;
mod console;
mod containers;
mod environment;
mod error;
mod expansion;
mod fields;
mod files;
mod guard;
mod images;
mod launch;
mod leftovers;
#[cfg(target_os = "linux")]
mod listening;
mod ports;
mod probe;
mod run;
mod runner;
mod running;
mod signals;
mod spawn;
mod succession;
mod supervise;
#[cfg(target_os = "linux")]
mod table;
#[cfg(unix)]
mod tar;
mod volumes;

use std::ffi::OsString;
use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;

pub use command::{CommandEnd, CommandStreams, ContainerCommand};
pub use containers::{Containers, PodProcesses};
pub use guard::{ProcessGuard, guard};
pub use images::{Image, ImageError, ImageFolder};
pub(in crate::kubelet) use runner::{Context, Runner};
pub use spawn::TerminalSize;

use guard::GuardCommand;

/// What processes need of the API server they run beside.
pub trait ProcessHost: Send + Sync + 'static {
    /// Begins the log of a container that starts: where its standard output goes, and where its standard error. The log ends
    /// when both are dropped.
    fn begin_log(&self, namespace: &str, pod: &str, container: &str) -> [Box<dyn io::Write + Send>; 2];

    /// Directs calls of webhooks to a Pod with this address to another one, or with `None` to its own again. A Pod whose containers
    /// are processes of this machine is reached at a loopback address, which no Pod and no `EndpointSlice` may have.
    fn redirect_pod_ip(&self, pod_ip: IpAddr, to: Option<IpAddr>);
}

/// What becomes of containers whose image is not loaded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UnloadedImages {
    /// They are simulated, and their log says so.
    #[default]
    Simulated,
    /// They wait for their image, as on a node that cannot pull it.
    Refused,
}

/// That containers are processes, and of what. Whoever may create Pods then runs these binaries on this machine, as the user
/// who started it, with arguments of their choice.
///
/// ```
/// use kubewright_controllers::Controllers;
/// use kubewright_controllers::process::{ImageFolder, UnloadedImages, ProcessHost, Processes};
/// use std::net::IpAddr;
///
/// struct Server; // an API server on a port of this machine
///
/// impl ProcessHost for Server {
///     fn begin_log(&self, _namespace: &str, _pod: &str, _container: &str) -> [Box<dyn std::io::Write + Send>; 2] {
///         [Box::new(std::io::stdout()), Box::new(std::io::stderr())]
///     }
///     fn redirect_pod_ip(&self, _pod_ip: IpAddr, _to: Option<IpAddr>) {}
/// }
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let place = std::env::temp_dir().join(format!("processes-{}", std::process::id()));
/// let images = ImageFolder::open(place.join("images"))?;
/// assert!(images.path().ends_with("images"));
/// let processes = Processes::new(images, place.join("pods"), "127.0.0.1:6443".parse()?, Server)
///     .unloaded_images(UnloadedImages::Refused)
///     .guarded_by("kubewright", ["image", "guard"]);
/// let controllers = Controllers::all().processes(processes);
/// # std::fs::remove_dir_all(place)?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Processes {
    images: ImageFolder,
    folder: PathBuf,
    api_server: SocketAddr,
    host: Arc<dyn ProcessHost>,
    unloaded_images: UnloadedImages,
    guard: Option<GuardCommand>,
    containers: Containers,
}

impl Processes {
    /// Runs the binaries of `images`. Pods' files are under `folder`, which is made for its owner alone and removed at the
    /// end; processes find the API server at its address, with the root CA that the controllers publish.
    pub fn new(
        images: ImageFolder,
        folder: impl Into<PathBuf>,
        api_server: SocketAddr,
        host: impl ProcessHost,
    ) -> Self {
        Processes {
            images,
            folder: folder.into(),
            api_server,
            host: Arc::new(host),
            unloaded_images: UnloadedImages::default(),
            guard: None,
            containers: Containers::default(),
        }
    }

    /// What becomes of containers whose image is not loaded (they are simulated by default).
    pub fn unloaded_images(mut self, unloaded_images: UnloadedImages) -> Self {
        self.unloaded_images = unloaded_images;
        self
    }

    /// Connections to the containers, for clients that want to run commands in them, attach to them or use their ports.
    pub fn containers(&self) -> Containers {
        self.containers.clone()
    }

    /// A program that calls [`guard`] with its standard input and its last argument, a folder: it ends the processes if this
    /// one is gone without doing so. None by default.
    pub fn guarded_by<A: Into<OsString>>(
        mut self,
        program: impl Into<PathBuf>,
        arguments: impl IntoIterator<Item = A>,
    ) -> Self {
        self.guard = Some(GuardCommand {
            program: program.into(),
            arguments: arguments.into_iter().map(Into::into).collect(),
        });
        self
    }
}

impl fmt::Debug for Processes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Processes")
            .field("images", &self.images)
            .field("folder", &self.folder)
            .field("api_server", &self.api_server)
            .field("unloaded_images", &self.unloaded_images)
            .finish_non_exhaustive()
    }
}
