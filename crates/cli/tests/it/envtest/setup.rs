//! What Go's envtest makes and starts: certificates, and both programs with the flags that controller-runtime v0.25 gives them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

use kube::config::{KubeConfigOptions, Kubeconfig as ClientConfig};
use kubewright_system::certificates::{self, KeyedCertificate, Leaf, Signer};
use kubewright_system::kubeconfig::{Authority, Credentials, Kubeconfig};
use kubewright_test_support::free_port;
use tempfile::TempDir;

use super::folder::{MadeFolder, made_folder};

/// A program, ended when dropped.
pub(super) struct Program(Child);

impl Program {
    pub(super) fn start(command: &mut Command) -> Self {
        Program(command.spawn().unwrap())
    }

    pub(super) fn stop(&mut self, signal: &str) -> ExitStatus {
        self.signal(signal);
        self.0.wait().unwrap()
    }

    pub(super) fn signal(&self, signal: &str) {
        let pid = self.0.id().to_string();
        assert!(
            Command::new("kill")
                .args(["-s", signal, &pid])
                .status()
                .unwrap()
                .success()
        );
    }

    /// Asks until it answers; it must not end before.
    pub(super) async fn until<T>(&mut self, ask: impl AsyncFn() -> Option<T>) -> T {
        let deadline = Instant::now() + Duration::from_mins(1);
        loop {
            if let Some(answer) = ask().await {
                return answer;
            }
            if let Some(status) = self.0.try_wait().unwrap() {
                panic!("the program ended: {status}");
            }
            assert!(Instant::now() < deadline, "the program does not answer");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// An authority, and what signs in its name.
pub(super) struct Authorities {
    pub(super) certificate: KeyedCertificate,
    pub(super) signer: Signer,
}

impl Authorities {
    pub(super) fn new(name: &str) -> Self {
        let certificate = certificates::authority(name, None).unwrap();
        let signer = Signer::new(name, &certificate.key_pem()).unwrap();
        Authorities { certificate, signer }
    }
}

/// Where the programs are.
pub(super) enum Programs {
    /// Those of the folder that `kubewright envtest` makes.
    Ours(MadeFolder),
    /// The real ones, for who records.
    Real(PathBuf),
}

impl Programs {
    fn path(&self) -> &Path {
        match self {
            Programs::Ours(made) => made.path(),
            Programs::Real(path) => path,
        }
    }
}

/// What envtest makes before it starts the programs.
pub(super) struct Setup {
    programs: Programs,
    pub(super) folder: TempDir,
    pub(super) etcd_port: u16,
    pub(super) port: u16,
    pub(super) serving: Authorities,
    pub(super) clients: Authorities,
}

impl Setup {
    /// Our programs.
    pub(super) fn new() -> Self {
        Self::with(Programs::Ours(made_folder()))
    }

    pub(super) fn with(programs: Programs) -> Self {
        let setup = Setup {
            programs,
            folder: tempfile::tempdir().unwrap(),
            etcd_port: free_port(),
            port: free_port(),
            serving: Authorities::new("envtest-environment"),
            clients: Authorities::new("envtest-clients"),
        };
        let names = ["localhost", "127.0.0.1"];
        let serving = setup.serving.signer.sign(&Leaf::server("localhost", &names)).unwrap();
        let tokens = certificates::self_signed(&["service accounts"]).unwrap();
        for (name, text) in [
            ("apiserver.crt", serving.certificate_pem()),
            ("apiserver.key", serving.key_pem()),
            ("sa-signer.crt", tokens.certificate_pem()),
            ("sa-signer.key", tokens.key_pem()),
            ("client-cert-auth-ca.crt", setup.clients.certificate.certificate_pem()),
        ] {
            fs::write(setup.folder.path().join(name), text).unwrap();
        }
        setup
    }

    pub(super) fn etcd(&self) -> Program {
        let url = format!("http://127.0.0.1:{}", self.etcd_port);
        Program::start(
            Command::new(self.programs.path().join("etcd"))
                .arg(format!("--advertise-client-urls={url}"))
                .arg(format!("--listen-client-urls={url}"))
                .arg(format!("--listen-peer-urls=http://127.0.0.1:{}", free_port()))
                .arg(format!("--data-dir={}", self.folder.path().display()))
                .arg("--unsafe-no-fsync=true"),
        )
    }

    pub(super) fn kube_apiserver(&self) -> Command {
        let mut command = self.kube_apiserver_without_authorizers();
        command.arg("--authorization-mode=RBAC");
        command
    }

    pub(super) fn kube_apiserver_without_authorizers(&self) -> Command {
        let folder = self.folder.path().display();
        let mut command = Command::new(self.programs.path().join("kube-apiserver"));
        command
            .arg("--allow-privileged=true")
            .arg("--bind-address=127.0.0.1")
            .arg(format!("--cert-dir={folder}"))
            .arg(format!("--client-ca-file={folder}/client-cert-auth-ca.crt"))
            .arg("--disable-admission-plugins=ServiceAccount")
            .arg(format!("--etcd-servers=http://127.0.0.1:{}", self.etcd_port))
            .arg(format!("--secure-port={}", self.port))
            .arg(format!("--service-account-issuer=https://127.0.0.1:{}/", self.port))
            .arg(format!("--service-account-key-file={folder}/sa-signer.crt"))
            .arg(format!("--service-account-signing-key-file={folder}/sa-signer.key"))
            .arg("--service-cluster-ip-range=10.0.0.0/24")
            .env_remove("KUBEWRIGHT_CONTROLLERS");
        command
    }

    /// A client with a certificate of the clients' authority.
    pub(super) async fn client(&self, user: &str, groups: &[&str]) -> kube::Client {
        let made = self.clients.signer.sign(&Leaf::client(user, groups)).unwrap();
        let (certificate, key) = (made.certificate_pem(), made.key_pem());
        let certificate = Credentials::Certificate {
            certificate: &certificate,
            key: &key,
        };
        self.client_with(certificate).await
    }

    pub(super) async fn client_with(&self, credentials: Credentials<'_>) -> kube::Client {
        let kubeconfig = Kubeconfig {
            context: "envtest",
            cluster: "envtest",
            user: "envtest",
            namespace: Some("default"),
            server: &format!("https://127.0.0.1:{}", self.port),
            authority: Authority::Pem(&self.serving.certificate.certificate_pem()),
            credentials,
        };
        let kubeconfig = ClientConfig::from_yaml(&kubeconfig.to_string()).unwrap();
        let options = KubeConfigOptions::default();
        let config = kube::Config::from_custom_kubeconfig(kubeconfig, &options);
        kube::Client::try_from(config.await.unwrap()).unwrap()
    }

    pub(super) async fn admin(&self) -> kube::Client {
        self.client("admin", &["system:masters"]).await
    }

    pub(super) async fn started(&self, command: &mut Command) -> (Program, kube::Client) {
        let mut server = Program::start(command);
        let admin = self.admin().await;
        let probe = || http::Request::get("/healthz").body(Vec::new()).unwrap();
        server.until(async || admin.request_text(probe()).await.ok()).await;
        (server, admin)
    }
}
