//! The operator's process: started in a group of its own, so that Ctrl-C reaches it once and through us.

use std::io;
use std::path::Path;
use std::process::ExitStatus;
use std::sync::OnceLock;
use std::time::Duration;

use kubewright_controllers::process::ProcessGuard;
use tokio::process::{Child, Command};
use tokio::time::timeout;

use crate::image;

/// How long an operator that was asked to stop may take, when another one waits to take its place.
const GRACE: Duration = Duration::from_secs(15);

/// Ends the operator, or a build, if this program is gone without having done so.
static GUARD: OnceLock<Option<ProcessGuard>> = OnceLock::new();

/// The guard, which is started when it is first asked for. One that cannot be started leaves things as they are without it.
pub(super) fn guard(folder: &Path) -> Option<&'static ProcessGuard> {
    // There are no groups of processes elsewhere.
    if cfg!(not(unix)) {
        return None;
    }
    let start = || ProcessGuard::start(std::env::current_exe().ok()?, image::GUARD, folder).ok();
    GUARD.get_or_init(start).as_ref()
}

/// A running operator. Dropped, it is killed.
pub(super) struct Process {
    child: Child,
    /// The group of processes that it leads, until it has ended.
    #[cfg(unix)]
    group: Option<rustix::process::Pid>,
    /// The group, if the guard knows of it.
    guarded: Option<u32>,
    /// An operator that is asked twice ends at once.
    is_asked: bool,
}

/// How an operator is started.
#[derive(Clone, Debug, Default)]
pub(super) struct StartOptions {
    pub(super) flags: Vec<String>,
    pub(super) variables: Vec<(String, String)>,
}

impl Process {
    pub(super) fn start(program: &Path, folder: &Path, start: &StartOptions) -> io::Result<Self> {
        let mut command = Command::new(program);
        command
            .args(&start.flags)
            .envs(start.variables.iter().map(|(name, value)| (name, value)))
            .current_dir(folder)
            .stdin(std::process::Stdio::null())
            .kill_on_drop(true);
        #[cfg(unix)]
        command.process_group(0);
        // Before the operator, so that there is no time in which it runs unguarded.
        let guard = guard(folder);
        let child = command.spawn()?;
        let guarded = child.id().zip(guard).map(|(group, guard)| {
            guard.add(group);
            group
        });
        Ok(Process {
            #[cfg(unix)]
            group: child
                .id()
                .and_then(|id| rustix::process::Pid::from_raw(i32::try_from(id).ok()?)),
            child,
            guarded,
            is_asked: false,
        })
    }

    /// How it ended, once it has. What it started and left behind in its group is ended with it.
    pub(super) async fn ended(&mut self) -> io::Result<ExitStatus> {
        let status = self.child.wait().await?;
        #[cfg(unix)]
        {
            // Commands in the background of a shell, for example, do not mind Ctrl-C.
            self.signal(rustix::process::Signal::KILL);
            self.group = None;
        }
        Ok(status)
    }

    #[cfg(unix)]
    fn signal(&self, signal: rustix::process::Signal) {
        if let Some(group) = self.group {
            // It may have ended this moment.
            let _ = rustix::process::kill_process_group(group, signal);
        }
    }

    /// Asks it, and what it started in its group, to stop, unless it was asked before.
    #[cfg(unix)]
    pub(super) fn ask(&mut self, is_interrupt: bool) {
        use rustix::process::Signal;
        if std::mem::replace(&mut self.is_asked, true) {
            return;
        }
        self.signal(if is_interrupt { Signal::INT } else { Signal::TERM });
    }

    /// Asks it to stop, which here is to end it.
    #[cfg(not(unix))]
    pub(super) fn ask(&mut self, _is_interrupt: bool) {
        self.is_asked = true;
        self.kill();
    }

    /// Ends it at once, and what it started in its group.
    pub(super) fn kill(&mut self) {
        #[cfg(unix)]
        self.signal(rustix::process::Signal::KILL);
        let _ = self.child.start_kill();
    }

    /// Stops it, in good order if it can be had within reason.
    pub(super) async fn stop(&mut self) -> io::Result<ExitStatus> {
        self.ask(false);
        if let Ok(ended) = timeout(GRACE, self.ended()).await {
            return ended;
        }
        self.kill();
        self.ended().await
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if let (Some(group), Some(Some(guard))) = (self.guarded, GUARD.get()) {
            guard.remove(group);
        }
    }
}

/// The exit code by which a shell reports how a process ended.
pub(super) fn exit_code(status: ExitStatus) -> u8 {
    u8::try_from(kubewright_system::signals::exit_code(status)).unwrap_or(1)
}

/// `exit code 3`, or by which signal it ended.
pub(super) fn told(status: ExitStatus) -> String {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return format!("signal {signal}");
    }
    format!("exit code {}", status.code().unwrap_or(1))
}
