//! What a container's process needs before it starts: its files, its environment variables, its arguments.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use k8s_openapi::api::core::v1::{Container, Pod};
use kubewright_system::kubeconfig::{Authority, Credentials, Kubeconfig};

use super::action::{Action, Launch, program_of};
use super::environment::Sources;
use super::error::StartError;
use super::images::Image;
use super::probe::Probers;
use super::run::RunParts;
#[cfg(unix)]
use super::tar::ContainerFiles;
use super::volumes::Mount;
use super::{Processes, expansion, files, ports, volumes};

/// Where a Pod's account is mounted.
const ACCOUNT: &str = "/var/run/secrets/kubernetes.io/serviceaccount";
/// Where programs look for others, as container runtimes have it.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// A container that can be started.
#[derive(Debug)]
pub(super) struct PreparedContainer {
    pub(super) launch: Launch,
    pub(super) probers: Probers,
    pub(super) post_start: Option<Action>,
    pub(super) pre_stop: Option<Action>,
    pub(super) ports: Vec<u16>,
    pub(super) image: Image,
    /// The folder that it takes for its root, and what is mounted there.
    pub(super) root: PathBuf,
    pub(super) mounts: Vec<Mount>,
    pub(super) mount_paths: Vec<String>,
    pub(super) streams: StandardStreams,
    /// Where it may write a termination message.
    pub(super) termination_message: PathBuf,
    /// Whether the end of its log is its termination message if it fails without one.
    pub(super) falls_back: bool,
}

impl PreparedContainer {
    /// What those need who connect to its process.
    pub(super) fn run_parts(&self) -> RunParts {
        RunParts {
            launch: self.launch.clone(),
            image: self.image.clone(),
            root: self.root.clone(),
            mount_paths: self.mount_paths.clone(),
            #[cfg(unix)]
            files: ContainerFiles::new(&self.root, self.mounts.clone(), &self.launch.folder),
        }
    }
}

/// What of its standard streams a container has.
#[derive(Clone, Copy, Debug)]
pub(super) struct StandardStreams {
    /// Whether it reads what clients send that attach to it,
    pub(super) stdin: bool,
    /// and only what the first of them sends.
    pub(super) stdin_once: bool,
    /// Whether it has a terminal.
    pub(super) tty: bool,
}

/// The folders of a Pod.
#[derive(Clone, Debug)]
pub(super) struct Folders(pub(super) PathBuf);

impl Folders {
    pub(super) fn volumes(&self) -> PathBuf {
        self.0.join("volumes")
    }

    pub(super) fn root(&self, container: &str) -> PathBuf {
        self.0.join("root").join(container)
    }

    fn kubeconfig(&self, container: &str) -> PathBuf {
        self.0.join(format!("kubeconfig.{container}"))
    }
}

/// Prepares a container whose Pod's volumes are there.
pub(super) async fn prepare(
    processes: &Processes,
    image: &Image,
    sources: &Sources<'_>,
    container: &Container,
    folders: &Folders,
) -> Result<PreparedContainer, StartError> {
    let mut words = container.command.iter().flatten();
    let name = words.next().unwrap_or(&image.entrypoint);
    let program = program_of(name, image).map_err(StartError::Run)?;
    let root = folders.root(&container.name);
    let given = given(processes, sources.pod, container, folders, &root)?;
    let variables = sources.variables(container, given.clone()).await?;
    let mounted = volumes::mount(container, &root, &folders.volumes(), &variables)?;

    let mounts = || {
        let mounts = container.volume_mounts.iter().flatten();
        mounts.map(|mount| mount.mount_path.as_str())
    };
    let words = words.chain(container.args.iter().flatten());
    let arguments = words
        .map(|word| expansion::rooted(&expansion::expanded(word, &variables), mounts(), &root))
        .collect();
    let led = variables.into_iter().map(|(name, value)| {
        let is_given = given.get(&name) == Some(&value);
        let value = if is_given {
            value
        } else {
            expansion::rooted(&value, mounts(), &root)
        };
        (name, value)
    });
    let folder = volumes::inside(&root, container.working_dir.as_deref().unwrap_or_default())?;
    if !folder.exists() {
        files::private_folder(&folder).map_err(StartError::file(&folder))?;
    }
    let launch = Launch {
        program,
        name: name.clone(),
        arguments,
        variables: led.collect(),
        folder,
    };
    let hooks = container.lifecycle.clone().unwrap_or_default();
    let hook = |field: &str, hook: Option<&_>| {
        let action = hook
            .map(|hook| Action::of_hook(hook, container, image, &launch))
            .transpose();
        action.map_err(|why| StartError::Config(format!("lifecycle.{field}: {why}")))
    };
    let termination_message = container.termination_message_path.as_deref();
    Ok(PreparedContainer {
        probers: Probers::of(container, image, &launch).map_err(StartError::Config)?,
        post_start: hook("postStart", hooks.post_start.as_ref())?,
        pre_stop: hook("preStop", hooks.pre_stop.as_ref())?,
        ports: ports::of(container),
        image: image.clone(),
        mounts: mounted,
        mount_paths: mounts().map(str::to_owned).collect(),
        streams: StandardStreams {
            stdin: container.stdin == Some(true),
            stdin_once: container.stdin_once == Some(true),
            tty: container.tty == Some(true),
        },
        termination_message: volumes::inside(&root, termination_message.unwrap_or("/dev/termination-log"))?,
        falls_back: container.termination_message_policy.as_deref() == Some("FallbackToLogsOnError"),
        launch,
        root,
    })
}

/// The variables that every process gets.
fn given(
    processes: &Processes,
    pod: &Pod,
    container: &Container,
    folders: &Folders,
    root: &Path,
) -> Result<BTreeMap<String, String>, StartError> {
    let (host, port) = (
        processes.api_server.ip().to_string(),
        processes.api_server.port().to_string(),
    );
    let text = |path: &Path| path.display().to_string();
    let host_name = pod.spec.as_ref().and_then(|spec| spec.hostname.clone());
    let host_name = host_name.or_else(|| pod.metadata.name.clone()).unwrap_or_default();
    let mut given: BTreeMap<String, String> = [
        ("PATH", PATH.to_owned()),
        ("HOME", text(root)),
        ("HOSTNAME", host_name),
        ("TMPDIR", text(&root.join("tmp"))),
        ("CONTAINER_SANDBOX_MOUNT_POINT", text(root)),
        ("KUBERNETES_SERVICE_HOST", host),
        ("KUBERNETES_SERVICE_PORT", port.clone()),
        ("KUBERNETES_SERVICE_PORT_HTTPS", port),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into();
    let has_account = container
        .volume_mounts
        .iter()
        .flatten()
        .any(|mount| mount.mount_path == ACCOUNT);
    if has_account {
        let path = folders.kubeconfig(&container.name);
        let namespace = pod.metadata.namespace.as_deref().unwrap_or_default();
        let account = volumes::inside(root, ACCOUNT)?;
        let config = kubeconfig(processes, &account, namespace);
        files::replace(&path, config.as_bytes(), 0o600).map_err(StartError::file(&path))?;
        given.insert("KUBECONFIG".to_owned(), text(&path));
    }
    Ok(given)
}

/// A kubeconfig with the Pod's account, for programs that do not look for the account where Pods have it.
fn kubeconfig(processes: &Processes, account: &Path, namespace: &str) -> String {
    let file = |name: &str| account.join(name).display().to_string();
    Kubeconfig {
        context: "pod",
        cluster: "kubewright",
        user: "account",
        namespace: Some(namespace),
        server: &format!("https://{}", processes.api_server),
        authority: Authority::File(&file("ca.crt")),
        credentials: Credentials::TokenFile(&file("token")),
    }
    .to_string()
}
