//! The built command, started and stopped.

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};

use tempfile::TempDir;

/// The command under test.
pub(crate) fn kubewright() -> Command {
    Command::new(env!("CARGO_BIN_EXE_kubewright"))
}

/// Whether a process ignores that its terminal is closed, by what Linux says of it. What it starts does so too.
pub(crate) fn ignores_hangup(process: &str) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    ignored.is_some_and(|mask| u64::from_str_radix(mask.trim(), 16).unwrap() & 1 == 1)
}

/// The signals that end it in order: all that these tests do not ignore themselves, as under nohup.
pub(crate) fn endings() -> Vec<&'static str> {
    let hangup = (!ignores_hangup("self")).then_some("HUP");
    ["INT", "TERM"].into_iter().chain(hangup).collect()
}

/// A running `kubewright apiserver`, stopped when dropped.
pub(crate) struct Server {
    child: Child,
    stdout: BufReader<ChildStdout>,
    /// What it printed before it was ready.
    pub(crate) greeting: String,
    /// The kubeconfig it wrote.
    pub(crate) kubeconfig: PathBuf,
    _folder: TempDir,
}

impl Server {
    /// Starts a server on a free port and returns when it answers.
    pub(crate) fn start() -> Server {
        Server::start_with(&[])
    }

    /// The same with more flags.
    pub(crate) fn start_with(flags: &[&str]) -> Server {
        Server::start_in(&std::env::temp_dir(), flags)
    }

    /// The same with another folder for temporary files.
    pub(crate) fn start_in(temporary: &Path, flags: &[&str]) -> Server {
        let folder = tempfile::tempdir().unwrap();
        let kubeconfig = folder.path().join("kubeconfig");
        let mut child = kubewright()
            .args(["apiserver", "--secure-port", "0", "--kubeconfig-out"])
            .arg(&kubeconfig)
            .args(flags)
            .env("TMPDIR", temporary)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut greeting = String::new();
        while !greeting.contains("KUBECONFIG=") {
            assert_ne!(
                stdout.read_line(&mut greeting).unwrap(),
                0,
                "it ended, saying: {greeting}"
            );
        }
        Server {
            child,
            stdout,
            greeting,
            kubeconfig,
            _folder: folder,
        }
    }

    /// Sends a signal.
    pub(crate) fn signal(&self, signal: &str) {
        let pid = self.child.id().to_string();
        let sent = Command::new("kill").args(["-s", signal, &pid]).status().unwrap();
        assert!(sent.success());
    }

    /// Sends a signal and returns how the server ended, with the rest of what it printed.
    pub(crate) fn stop(&mut self, signal: &str) -> (ExitStatus, String) {
        self.signal(signal);
        let mut rest = String::new();
        self.stdout.read_to_string(&mut rest).unwrap();
        (self.child.wait().unwrap(), rest)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
