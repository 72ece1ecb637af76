//! What ends processes if whoever started them is gone without a word: a program that is told which there are through a
//! pipe, and acts when the pipe closes.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, Read, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::files;
use super::signals::{self, Tell};

/// How long processes whose kubelet is gone may take to end.
const GRACE: Duration = Duration::from_secs(5);
const LOOK: Duration = Duration::from_millis(20);

/// The program that guards, as it is called.
#[derive(Clone, Debug)]
pub(super) struct GuardCommand {
    pub(super) program: PathBuf,
    pub(super) arguments: Vec<OsString>,
}

/// A guard that runs.
#[derive(Debug)]
pub(super) struct Guard {
    told: Mutex<ChildStdin>,
    program: Child,
}

impl Guard {
    /// Starts the guard of a folder and of the processes it will be told of.
    pub(super) fn start(command: &GuardCommand, folder: &Path) -> io::Result<Self> {
        let mut started = Command::new(&command.program);
        started
            .args(&command.arguments)
            .arg(folder)
            .env_clear()
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        // Ctrl-C is for its master.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut started, 0);
        let mut program = started.spawn()?;
        let told = program.stdin.take();
        Ok(Guard {
            told: Mutex::new(told.ok_or(io::ErrorKind::BrokenPipe)?),
            program,
        })
    }

    pub(super) fn add(&self, group: u32) {
        self.tell('+', group);
    }

    pub(super) fn remove(&self, group: u32) {
        self.tell('-', group);
    }

    fn tell(&self, sign: char, group: u32) {
        // A guard that is gone is no reason to end what it guarded.
        if let Err(error) = writeln!(self.told.lock(), "{sign}{group}") {
            tracing::debug!(%error, "nobody guards the processes");
        }
    }

    /// Ends the guard, which ends what it still knows of.
    pub(super) fn finish(self) {
        let Guard { told, mut program } = self;
        drop(told);
        let _ = program.wait();
    }
}

/// The whole of the program that guards: reads which processes there are and, when the one who writes is gone, ends those
/// that are left and removes the folder.
///
/// `kubewright image guard` is that program; who runs processes otherwise gives [`Processes`](super::Processes) one of
/// their own that calls this.
///
/// ```
/// let folder = std::env::temp_dir().join(format!("guarded-{}", std::process::id()));
/// # #[cfg(unix)] use std::os::unix::fs::DirBuilderExt as _;
/// # #[cfg(unix)]
/// std::fs::DirBuilder::new().mode(0o700).create(&folder)?;
/// kubewright_controllers::process::guard(&b"+123456789\n-123456789\n"[..], &folder);
/// assert!(!folder.exists());
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn guard(told: impl Read, folder: &Path) {
    let mut groups = BTreeSet::new();
    for line in BufReader::new(told).lines().map_while(Result::ok) {
        let (sign, number) = line.split_at(line.len().min(1));
        match (sign, number.parse::<u32>()) {
            ("+", Ok(group)) if group > 1 => drop(groups.insert(group)),
            ("-", Ok(group)) => drop(groups.remove(&group)),
            _ => {}
        }
    }
    for group in &groups {
        signals::tell(*group, Tell::End);
    }
    let began = Instant::now();
    while began.elapsed() < GRACE && groups.iter().any(|group| signals::is_alive(*group)) {
        std::thread::sleep(LOOK);
    }
    for group in &groups {
        signals::tell(*group, Tell::Kill);
    }
    // Only what is ours: a folder that others could have put there is left alone.
    if files::is_private(folder).unwrap_or(false) {
        let _ = files::remove_folder(folder);
    }
}
