//! Real `etcd` and `kube-apiserver`, started as envtest starts them: free ports, a folder of their own, certificates.

use std::path::{Path, PathBuf};
use std::time::Duration;

use kube::Config;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kubewright_controllers::SigningAuthority;
use kubewright_system::kubeconfig;
use kubewright_system::listen::free_ports;
use tempfile::TempDir;
use tokio::time::Instant;

use super::certificates::{Authority, PemPair, token_signer};
use super::process::Process;
use super::remote::Remote;
use crate::Error;

/// How long a start may take, unless `KUBEBUILDER_CONTROLPLANE_START_TIMEOUT` says otherwise; envtest's own default.
const START: Duration = Duration::from_secs(20);
/// The name of the server as a client of aggregated APIs.
const FRONT_PROXY: &str = "front-proxy-client";
const PAUSE: Duration = Duration::from_millis(20);

pub(crate) struct Binaries {
    remote: Remote,
    kubeconfig: String,
    authority: Authority,
    // In the order in which they end: the server first, then its storage, then their folder.
    server: Process,
    etcd: Process,
    folder: TempDir,
}

struct Ports {
    server: u16,
    etcd: u16,
    peer: u16,
}

impl Binaries {
    pub(super) async fn start(assets: &Path) -> Result<Self, Error> {
        let etcd = program(assets, "etcd", "TEST_ASSET_ETCD")?;
        let kube_apiserver = program(assets, "kube-apiserver", "TEST_ASSET_KUBE_APISERVER")?;
        let folder = tempfile::Builder::new().prefix("kubewright_test_").tempdir();
        let folder = folder.map_err(|error| Error::ControlPlane(format!("no temporary folder: {error}")))?;
        let ports = Ports::free()?;
        let authority = Authority::new("kubewright-test")?;
        let admin = authority.client("admin", &["system:masters"])?;
        write_certificates(folder.path(), &authority)?;
        write_front_proxy(folder.path())?;
        let kubeconfig = kubeconfig(&ports, &authority, &admin);

        let mut etcd = Process::start(&etcd, &ports.etcd_arguments(folder.path()), folder.path())?;
        let mut server = Process::start(&kube_apiserver, &ports.server_arguments(folder.path()), folder.path())?;
        let remote = Remote::new(config(&kubeconfig).await?)?;
        let deadline = Instant::now() + start_timeout();
        loop {
            etcd.check()?;
            server.check()?;
            if is_ready(remote.admin()).await {
                break;
            }
            if Instant::now() > deadline {
                let (waited, words) = (start_timeout(), server.log_tail());
                return Err(Error::ControlPlane(format!(
                    "kube-apiserver is not ready after {waited:?}\n{words}"
                )));
            }
            tokio::time::sleep(PAUSE).await;
        }
        Ok(Binaries {
            remote,
            kubeconfig,
            authority,
            server,
            etcd,
            folder,
        })
    }

    pub(super) fn remote(&self) -> &Remote {
        &self.remote
    }

    pub(super) fn kubeconfig(&self) -> String {
        self.kubeconfig.clone()
    }

    /// The certificate of who signed the server's.
    pub(super) fn authority(&self) -> &str {
        &self.authority.certificate
    }

    /// Signs for clients whom the server believes.
    pub(super) fn signing_authority(&self) -> &SigningAuthority {
        &self.authority.signing
    }

    pub(super) fn stop(self: Box<Self>) {
        let Binaries {
            server, etcd, folder, ..
        } = *self;
        drop(server);
        drop(etcd);
        // A folder that cannot be removed is the system's to clean up.
        let _ = folder.close();
    }
}

/// As envtest finds it: by its own variable, else in the folder.
fn program(assets: &Path, name: &str, variable: &str) -> Result<PathBuf, Error> {
    let path = std::env::var_os(variable).map_or_else(|| assets.join(name), PathBuf::from);
    if path.is_file() {
        return Ok(path);
    }
    Err(Error::ControlPlane(format!(
        "{} is missing: KUBEBUILDER_ASSETS names a folder with etcd and kube-apiserver; without it tests run on the embedded \
         server",
        path.display()
    )))
}

fn start_timeout() -> Duration {
    let text = std::env::var("KUBEBUILDER_CONTROLPLANE_START_TIMEOUT").unwrap_or_default();
    let seconds = text.strip_suffix('s').and_then(|number| number.parse().ok());
    seconds.map_or(START, Duration::from_secs_f64)
}

async fn is_ready(client: &kube::Client) -> bool {
    let get = |path: &str| http::Request::get(path).body(Vec::new());
    let (Ok(ready), Ok(default)) = (get("/readyz"), get("/api/v1/namespaces/default")) else {
        return false;
    };
    client.request_text(ready).await.is_ok() && client.request_text(default).await.is_ok()
}

impl Ports {
    fn free() -> Result<Self, Error> {
        let [server, etcd, peer] =
            free_ports().map_err(|error| Error::ControlPlane(format!("no free port: {error}")))?;
        Ok(Ports { server, etcd, peer })
    }

    fn etcd_arguments(&self, folder: &Path) -> Vec<String> {
        let client = format!("http://127.0.0.1:{}", self.etcd);
        let peer = format!("http://127.0.0.1:{}", self.peer);
        vec![
            format!("--advertise-client-urls={client}"),
            format!("--data-dir={}", folder.join("etcd").display()),
            format!("--initial-advertise-peer-urls={peer}"),
            format!("--initial-cluster=default={peer}"),
            format!("--listen-client-urls={client}"),
            format!("--listen-peer-urls={peer}"),
            "--unsafe-no-fsync=true".to_owned(),
        ]
    }

    fn server_arguments(&self, folder: &Path) -> Vec<String> {
        let file = |name: &str| folder.join(name).display().to_string();
        vec![
            "--advertise-address=127.0.0.1".to_owned(),
            "--allow-privileged=true".to_owned(),
            "--authorization-mode=RBAC".to_owned(),
            "--bind-address=127.0.0.1".to_owned(),
            format!("--cert-dir={}", folder.display()),
            format!("--client-ca-file={}", file("client-ca.crt")),
            "--disable-admission-plugins=ServiceAccount".to_owned(),
            // An aggregated API knows by this authority that a request comes from here.
            format!("--proxy-client-cert-file={}", file("front-proxy-client.crt")),
            format!("--proxy-client-key-file={}", file("front-proxy-client.key")),
            format!("--requestheader-allowed-names={FRONT_PROXY}"),
            format!("--requestheader-client-ca-file={}", file("front-proxy-ca.crt")),
            "--requestheader-extra-headers-prefix=X-Remote-Extra-".to_owned(),
            "--requestheader-group-headers=X-Remote-Group".to_owned(),
            "--requestheader-username-headers=X-Remote-User".to_owned(),
            format!("--etcd-servers=http://127.0.0.1:{}", self.etcd),
            format!("--secure-port={}", self.server),
            format!("--service-account-issuer=https://127.0.0.1:{}/", self.server),
            format!("--service-account-key-file={}", file("sa-signer.pub")),
            format!("--service-account-signing-key-file={}", file("sa-signer.key")),
            "--service-cluster-ip-range=10.0.0.0/24".to_owned(),
            format!("--tls-cert-file={}", file("apiserver.crt")),
            format!("--tls-private-key-file={}", file("apiserver.key")),
        ]
    }
}

fn write_certificates(folder: &Path, authority: &Authority) -> Result<(), Error> {
    let (serving, signer) = (authority.serving()?, token_signer()?);
    for (name, text) in [
        ("client-ca.crt", &authority.certificate),
        ("apiserver.crt", &serving.certificate),
        ("apiserver.key", &serving.key),
        ("sa-signer.pub", &signer.certificate),
        ("sa-signer.key", &signer.key),
    ] {
        write(folder, name, text)?;
    }
    Ok(())
}

/// The certificate by which the server is known to aggregated APIs, of an authority of its own.
fn write_front_proxy(folder: &Path) -> Result<(), Error> {
    let authority = Authority::new("kubewright-test-front-proxy")?;
    let client = authority.client(FRONT_PROXY, &[])?;
    write(folder, "front-proxy-ca.crt", &authority.certificate)?;
    write(folder, "front-proxy-client.crt", &client.certificate)?;
    write(folder, "front-proxy-client.key", &client.key)
}

fn write(folder: &Path, name: &str, text: &str) -> Result<(), Error> {
    let path = folder.join(name);
    std::fs::write(&path, text).map_err(|error| Error::ControlPlane(format!("{}: {error}", path.display())))
}

fn kubeconfig(ports: &Ports, authority: &Authority, admin: &PemPair) -> String {
    kubeconfig::Kubeconfig {
        context: "envtest",
        cluster: "envtest",
        user: "envtest",
        namespace: None,
        server: &format!("https://127.0.0.1:{}", ports.server),
        authority: kubeconfig::Authority::Pem(&authority.certificate),
        credentials: kubeconfig::Credentials::Certificate {
            certificate: &admin.certificate,
            key: &admin.key,
        },
    }
    .to_string()
}

async fn config(kubeconfig: &str) -> Result<Config, Error> {
    let failed = |error: &dyn std::fmt::Display| Error::ControlPlane(error.to_string());
    let kubeconfig = Kubeconfig::from_yaml(kubeconfig).map_err(|error| failed(&error))?;
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await;
    config.map_err(|error| failed(&error))
}
