//! The real etcd and kube-apiserver that all peers work against, started by `conformance/upstream/start`.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use kube::Client;
use kube::config::{KubeConfigOptions, Kubeconfig};
use tokio::process::{Child, Command};

use kubewright_bench_runtime::Failure;

/// How long the servers may take to answer.
const PATIENCE: Duration = Duration::from_mins(1);
/// How long the servers may take to end before they are killed.
const GRACE: Duration = Duration::from_secs(5);
/// A script that ends the servers and removes their data when the benchmark closes its end of the pipe, however the benchmark ends.
const CLEANUP: &str = r#"
"$0" "$1" "$2" >"$1.log" 2>&1 </dev/null & pair=$!
while kill -0 "$pair" 2>/dev/null; do
  read -r -t 1 _
  if [ $? -le 128 ]; then
    kill "$pair" && wait "$pair"
    rm -rf "$(dirname "$1")"
    exit
  fi
done"#;

/// A running etcd and kube-apiserver.
pub(crate) struct Server {
    pub(crate) client: Client,
    pub(crate) kubeconfig: PathBuf,
    keeper: Child,
    folder: tempfile::TempDir,
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

impl Server {
    /// Builds the servers unless they are built, starts them and waits for the first answer.
    pub(crate) async fn start(port: u16) -> Result<Server, Failure> {
        let upstream = repository().join("conformance/upstream");
        let built = Command::new(upstream.join("build"))
            .args(["etcd", "kube-apiserver"])
            .stdout(Stdio::null())
            .status()
            .await?;
        if !built.success() {
            return Err("conformance/upstream/build failed".into());
        }
        let folder = tempfile::tempdir()?;
        let run = folder.path().join("run");
        let keeper = Command::new("bash")
            .args(["-c", CLEANUP])
            .arg(upstream.join("start"))
            .arg(&run)
            .arg(port.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()?;
        let mut server = Server {
            client: unconnected()?,
            kubeconfig: run.join("kubeconfig"),
            keeper,
            folder,
        };
        let began = Instant::now();
        while began.elapsed() < PATIENCE {
            if let Ok(Some(_)) = server.keeper.try_wait() {
                return Err(format!("the API server does not start: {}", server.log()).into());
            }
            if server.log().contains("start: ready") {
                server.client = connect(&server.kubeconfig).await?;
                return Ok(server);
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        Err(format!("the API server did not answer within a minute: {}", server.log()).into())
    }

    fn log(&self) -> String {
        let log = std::fs::read_to_string(self.folder.path().join("run.log"));
        log.unwrap_or_default().trim().to_owned()
    }

    /// A temporary folder that is removed with the server.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }
}

/// A client without a server, used until the server is started.
fn unconnected() -> Result<Client, Failure> {
    Ok(Client::try_from(kube::Config::new("https://127.0.0.1:1".parse()?))?)
}

async fn connect(kubeconfig: &Path) -> Result<Client, Failure> {
    let kubeconfig = Kubeconfig::read_from(kubeconfig)?;
    let config = kube::Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
    Ok(Client::try_from(config)?)
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.keeper.stdin.take());
        let began = Instant::now();
        while began.elapsed() < GRACE {
            if let Ok(Some(_)) = self.keeper.try_wait() {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        if let Some(id) = self.keeper.id() {
            let _ = std::process::Command::new("kill")
                .args(["-KILL", "--", &format!("-{id}")])
                .status();
        }
    }
}
