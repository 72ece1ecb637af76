//! Starts the servers as processes, and measures how long they take to answer and how much memory they have.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::Request;
use kubewright_system::process::status_field;
use tokio::process::{Child, Command};

use crate::client::{Credentials, Failure};
use crate::endpoint::Endpoint;

/// A running server.
pub(crate) struct Peer {
    pub(crate) credentials: Credentials,
    /// From spawning the process to its first answer.
    pub(crate) started: Duration,
    /// Resident memory once it answered, in bytes.
    pub(crate) fresh_memory: u64,
    child: Child,
    folder: tempfile::TempDir,
}

impl Peer {
    /// The resident memory of its processes now, in bytes.
    pub(crate) fn memory(&self) -> u64 {
        memory_below(self.folder.path(), "VmRSS")
    }

    /// The most resident memory that each of its processes had so far, in bytes.
    pub(crate) fn highest_memory(&self) -> u64 {
        memory_below(self.folder.path(), "VmHWM")
    }
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Starts kube-apiserver and etcd with `conformance/upstream/start`.
pub(crate) async fn upstream() -> Result<Peer, Failure> {
    let folder = tempfile::tempdir()?;
    let run = folder.path().join("run");
    let mut command = Command::new(repository().join("conformance/upstream/start"));
    command.arg(&run).arg("26443");
    start(command, run.join("kubeconfig"), folder).await
}

/// Starts `kubewright apiserver`.
pub(crate) async fn ours() -> Result<Peer, Failure> {
    let folder = tempfile::tempdir()?;
    let kubeconfig = folder.path().join("kubeconfig");
    let binary = std::env::current_exe()?.with_file_name("kubewright");
    if !binary.exists() {
        return Err(format!(
            "{} is missing: cargo build --profile dist -p kubewright-cli",
            binary.display()
        )
        .into());
    }
    let mut command = Command::new(binary);
    command
        .args(["apiserver", "--secure-port", "0", "--kubeconfig-out"])
        .arg(&kubeconfig);
    start(command, kubeconfig, folder).await
}

async fn start(mut command: Command, kubeconfig: PathBuf, folder: tempfile::TempDir) -> Result<Peer, Failure> {
    let began = Instant::now();
    let child = command
        .stdout(Stdio::null())
        .stderr(Stdio::inherit())
        .kill_on_drop(true)
        .process_group(0)
        .spawn()?;
    let credentials = loop {
        if began.elapsed() > Duration::from_mins(1) {
            return Err("the server did not answer within a minute".into());
        }
        if let Ok(text) = std::fs::read_to_string(&kubeconfig)
            && let Ok(credentials) = Credentials::from_kubeconfig(&text)
            && answers(&credentials).await
        {
            break credentials;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    };
    let started = began.elapsed();
    let fresh_memory = memory_below(folder.path(), "VmRSS");
    Ok(Peer {
        credentials,
        started,
        fresh_memory,
        child,
        folder,
    })
}

async fn answers(credentials: &Credentials) -> bool {
    let endpoint = Endpoint::Tls(credentials.clone());
    let Ok(mut client) = endpoint.open().await else {
        return false;
    };
    let mut request = Request::get("/api/v1/namespaces/default");
    if let Some(value) = endpoint.authorization() {
        request = request.header("Authorization", value);
    }
    match request.header("Host", "localhost").body(Bytes::new()) {
        Ok(request) => client.send(request).await.is_ok(),
        Err(_) => false,
    }
}

impl Drop for Peer {
    /// Kills the whole process group: the real servers run below a script and take long to shut down when asked to.
    fn drop(&mut self) {
        if let Some(id) = self.child.id() {
            let _ = std::process::Command::new("kill")
                .args(["-KILL", "--", &format!("-{id}")])
                .status();
        }
    }
}

/// Memory of the processes that were started on a folder, by the name that `/proc/<pid>/status` has for it.
fn memory_below(folder: &Path, kind: &str) -> u64 {
    let Ok(processes) = std::fs::read_dir("/proc") else {
        return 0;
    };
    let folder = folder.to_string_lossy();
    let memory = |process: std::fs::DirEntry| {
        let command = std::fs::read(process.path().join("cmdline")).ok()?;
        let status = std::fs::read_to_string(process.path().join("status")).ok()?;
        let field = |name| status_field(&status, name);
        // The script that starts the real servers does not count.
        let is_server = matches!(field("Name"), Some("kube-apiserver" | "etcd" | "kubewright"));
        if !is_server || !String::from_utf8_lossy(&command).contains(&*folder) {
            return None;
        }
        field(kind)?.split(' ').next()?.parse::<u64>().ok()
    };
    processes.flatten().filter_map(memory).sum::<u64>() * 1024
}
