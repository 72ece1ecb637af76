//! `kubewright apiserver`: the embedded API server on a port, for kubectl and every other client.

mod certificates;
mod containers;
mod processes;

use std::error::Error;
use std::io::{self, Write as _};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use clap::builder::PossibleValue;
use futures_util::future::OptionFuture;
use kubewright_apiserver::{ApiServer, AuthorizationMode, ListenOptions, Options};
use kubewright_cluster::embedded::explain;
use kubewright_cluster::kubeconfig::{self, TemporaryFolder};
use kubewright_cluster::quoted;
use kubewright_controllers::{Controllers, SigningAuthority};
use kubewright_runtime::stop::Stopper;
use kubewright_system::signals::Signals;

use self::certificates::CertificateFolder;
use self::processes::RunImages;
use crate::admission_arguments::AdmissionArguments;
use crate::history_arguments::HistoryArguments;
use crate::{token_file, unused_memory};

/// More threads than this answer no faster: the store takes one write at a time.
const MAX_THREADS: usize = 8;

const EXAMPLES: &str = "\
Examples:
  # An API server alone, for kubectl and tests
  kubewright apiserver --kubeconfig-out kubeconfig

  # A cluster to play with
  kubewright apiserver --controllers=all --nodes 3 --kubeconfig-out kubeconfig

  # For tests in another language: it says when it answers, and ends with the program that holds its standard input
  kubewright apiserver --secure-port 0 --controllers=all --kubeconfig-out kubeconfig --stop-with-stdin

  # A cluster that runs an operator as it is deployed, without a container engine
  kubewright apiserver --controllers=all --run-images --kubeconfig-out kubeconfig
  export KUBECONFIG=$PWD/kubeconfig
  kubewright image load controller:latest --binary target/debug/shop
  kubewright deploy --image controller:latest
  kubectl -n shop-system logs deploy/shop-controller-manager -c manager -f";

/// Run a Kubernetes API server.
///
/// It starts empty within milliseconds, keeps everything in memory and runs until Ctrl-C. By itself it has no nodes and runs
/// no controllers: objects are stored, validated, watched and deleted as Kubernetes 1.36 does it, but pods do not start.
/// With --controllers=all it is a cluster to play with: Deployments get Pods, which become ready on simulated nodes, where
/// nothing runs, so that their logs are empty. With --run-images, containers whose images were loaded with `kubewright image
/// load` are processes of this machine.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Port to listen on; 0 picks a free one.
    #[arg(long, value_name = "PORT", default_value_t = 6443)]
    secure_port: u16,

    /// Address to listen on. Any other than a loopback address lets other machines in, if they have the kubeconfig or a token.
    #[arg(long, value_name = "ADDRESS", default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST))]
    bind_address: IpAddr,

    /// Address by which others reach the server, if it is not the one it listens on.
    ///
    /// The Endpoints and the `EndpointSlice` of Service kubernetes name it, unless it is a loopback address.
    #[arg(long, value_name = "ADDRESS")]
    advertise_address: Option<IpAddr>,

    /// File to write the administrator's kubeconfig to, once the server answers; an existing one is replaced.
    ///
    /// Without it, the kubeconfig is in a temporary folder that is removed when the server stops.
    #[arg(long, value_name = "FILE")]
    kubeconfig_out: Option<PathBuf>,

    /// Stop when standard input ends.
    ///
    /// For programs that start the server and keep a pipe to its standard input: however they end, even if they are killed, the
    /// server does not outlive them. What is written to the pipe is ignored.
    #[arg(long)]
    stop_with_stdin: bool,

    /// Folder that keeps the certificate authority and the key for tokens of service accounts: after a restart, kubeconfigs and
    /// tokens of before are still good.
    ///
    /// What is missing there is made. Without it, both are new at every start. Objects are not kept.
    #[arg(long, value_name = "FOLDER")]
    cert_dir: Option<PathBuf>,

    /// How requests are authorized: by roles and bindings, or not at all.
    ///
    /// The administrator of the kubeconfig may do everything.
    #[arg(long, value_name = "MODE", default_value = "RBAC")]
    authorization_mode: Mode,

    /// Whether clients without credentials are let in, as system:anonymous. Authorization decides what they may do.
    /// Default: true, but false with --run-images.
    #[arg(long, value_name = "BOOLEAN", action = clap::ArgAction::Set)]
    anonymous_auth: Option<bool>,

    /// The controllers that run: all, none, or names as in gc,deployment or *,-job.
    #[arg(long, value_name = "LIST", default_value = "none", value_parser = Controllers::parse)]
    controllers: Controllers,

    /// How many simulated nodes there are. Needs controllers.
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    nodes: u16,

    /// Run containers as processes of this machine if their image was loaded with `kubewright image load`. Needs controllers.
    ///
    /// Whoever may create Pods then runs these binaries as you, with arguments of their choice. So nobody is let in without
    /// saying who they are, roles decide what they may do, and only this machine can reach the server. A process gets the
    /// arguments and variables of its Pod and nothing of yours, its volumes in a private folder under
    /// `$CONTAINER_SANDBOX_MOUNT_POINT`, and `$KUBECONFIG` with the Pod's own service account. What it prints is what `kubectl logs`
    /// shows, and `kubectl exec`, `cp`, `attach`, `port-forward` and `debug` lead into it. Processes end, and their files go, with their
    /// Pod or with the server.
    #[arg(long, value_name = "WHICH", num_args = 0..=1, require_equals = true, default_missing_value = "loaded")]
    run_images: Option<RunImages>,

    /// File of bearer tokens, one a line: token,user,uid,"group1,group2".
    #[arg(long, value_name = "FILE")]
    token_auth_file: Option<PathBuf>,

    #[command(flatten)]
    admission: AdmissionArguments,

    #[command(flatten)]
    history: HistoryArguments,
}

/// The values of `--authorization-mode`, under kube-apiserver's names.
#[derive(Clone)]
struct Mode(AuthorizationMode);

impl clap::ValueEnum for Mode {
    fn value_variants<'a>() -> &'a [Self] {
        &[
            Mode(AuthorizationMode::Rbac),
            Mode(AuthorizationMode::AlwaysAllow),
            Mode(AuthorizationMode::AlwaysDeny),
        ]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(match self.0 {
            AuthorizationMode::Rbac => "RBAC",
            AuthorizationMode::AlwaysAllow => "AlwaysAllow",
            AuthorizationMode::AlwaysDeny => "AlwaysDeny",
            // There are no kubelets here that would sign in, and no files that describe a webhook.
            AuthorizationMode::Node | AuthorizationMode::Webhook(_) => return None,
        }))
    }
}

impl Arguments {
    fn options(&self) -> Result<Options, Box<dyn Error>> {
        let options = Options::new()
            .authorization(self.authorization_mode.0.clone())
            .anonymous(self.anonymous_auth.unwrap_or(self.run_images.is_none()))
            .aggregated_roles(true);
        let options = self.history.apply(options);
        let mut options = self.admission.apply(options, self.run_images.is_some())?;
        if let Some(path) = &self.token_auth_file {
            for (token, user) in token_file::read(path)? {
                options = options.token(token, user);
            }
        }
        Ok(options)
    }
}

#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error("cannot write the kubeconfig to {}", path.display())]
    Kubeconfig { path: PathBuf, source: io::Error },
    #[error("cannot make a temporary folder for the kubeconfig; --kubeconfig-out FILE needs none")]
    TemporaryFolder(#[source] io::Error),
}

impl From<&Arguments> for processes::ServerFlags {
    fn from(arguments: &Arguments) -> Self {
        processes::ServerFlags {
            address: arguments.bind_address,
            is_anonymous: arguments.anonymous_auth == Some(true),
            allows_everything: arguments.authorization_mode.0 == AuthorizationMode::AlwaysAllow,
        }
    }
}

/// Runs the command.
pub(crate) fn run(arguments: Arguments) -> Result<(), Box<dyn Error>> {
    let threads = std::thread::available_parallelism().map_or(1, |cores| cores.get().min(MAX_THREADS));
    unused_memory::runtime(threads)?.block_on(serve(arguments))
}

async fn serve(arguments: Arguments) -> Result<(), Box<dyn Error>> {
    // From here on a signal stops the server in order.
    let mut signals = Signals::listen_with_hangup()?;
    tokio::spawn(unused_memory::give_back());
    if arguments.run_images.is_some() {
        processes::check(&(&arguments).into(), &arguments.controllers)?;
    }
    let certificates = arguments.cert_dir.as_deref().map(CertificateFolder::open).transpose()?;
    let mut options = arguments.options()?;
    if let Some(certificates) = &certificates {
        options = options.service_account_tokens(certificates.tokens()?);
    }
    let address = SocketAddr::new(arguments.bind_address, arguments.secure_port);
    let server = ApiServer::new(options);
    let mut listening = ListenOptions::from(address);
    if let Some(address) = arguments.advertise_address {
        listening = listening.advertise(address);
    }
    if let Some(certificates) = &certificates {
        listening = certificates.listening(listening);
    }
    let listener = server.listen(listening).await.map_err(explain)?;
    if let Some(certificates) = &certificates {
        certificates.keep(&listener)?;
    }
    let (stopper, stop) = Stopper::new();
    let (certificate, key) = listener.authority_pem();
    let mut controllers = arguments
        .controllers
        .nodes(arguments.nodes.into())
        .root_ca(listener.ca_pem())
        .signing_authority(SigningAuthority::new(certificate, key)?);
    let place = KubeconfigFile::of(arguments.kubeconfig_out)?;
    // Kept until all is over: Pods' files are in it.
    let mut pods = None;
    if let Some(which) = arguments.run_images {
        // The guard of the processes removes it, and takes an empty one only.
        let folder = kubeconfig::guarded_folder().map_err(processes::RunImagesError::Folder)?;
        let processes = processes::processes(which, &server, &listener, &place.path, folder.path())?;
        controllers = controllers.processes(processes);
        pods = Some(folder);
    }
    let mut controlling = (!controllers.is_empty()).then(|| tokio::spawn(controllers.run(server.client(), stop)));

    kubeconfig::write(&place.path, &listener.kubeconfig()).map_err(|source| Failure::Kubeconfig {
        path: place.path.clone(),
        source,
    })?;

    let hint = match &pods {
        Some(_) => "  kubewright image load NAME --binary PATH\n",
        None => "",
    };
    let text = format!(
        "Kubernetes API server on {url}\n\n  export KUBECONFIG={path}\n{hint}\nCtrl-C stops it.\n",
        url = listener.url(),
        path = quoted(&place.path.display().to_string()),
    );
    // The server goes on when nobody reads its output.
    let _ = io::stdout().write_all(text.as_bytes());

    let failed = tokio::select! {
        _ = signals.more_than(0) => None,
        () = stdin_ended(), if arguments.stop_with_stdin => None,
        // Controllers end by themselves only if they cannot go on; a cluster without them would look alive and do nothing.
        Some(Ok(Err(error))) = OptionFuture::from(controlling.as_mut()) => Some(error),
    };
    let times = signals.count();
    stopper.stop();
    if let Some(error) = failed {
        return Err(error.into());
    }
    tokio::select! {
        () = async {
            if let Some(controlling) = controlling {
                let _ = controlling.await;
            }
            listener.shutdown().await;
        } => {}
        // The second signal ends it at once.
        _ = signals.more_than(times) => {}
    }
    Ok(())
}

/// Returns when standard input ends, or cannot be read.
async fn stdin_ended() {
    let (ended, end) = tokio::sync::oneshot::channel();
    // A thread of its own: the runtime would wait for one of its own threads, which nothing can wake, before the process ends.
    std::thread::spawn(move || {
        let _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
        let _ = ended.send(());
    });
    let _ = end.await;
}

/// Where the kubeconfig goes. A temporary folder lives as long as this does.
struct KubeconfigFile {
    path: PathBuf,
    _folder: Option<TemporaryFolder>,
}

impl KubeconfigFile {
    fn of(chosen: Option<PathBuf>) -> Result<KubeconfigFile, Failure> {
        if let Some(path) = chosen {
            let path = std::path::absolute(&path).unwrap_or(path);
            return Ok(KubeconfigFile { path, _folder: None });
        }
        let folder = kubeconfig::temporary_folder().map_err(Failure::TemporaryFolder)?;
        Ok(KubeconfigFile {
            path: folder.path().join("kubeconfig"),
            _folder: Some(folder),
        })
    }
}
