//! Ends processes when the program that started them dies: a guard process learns of each through a pipe, and kills them when
//! the pipe closes.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, Read, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::signals::{self, GroupSignal};
use super::{files, spawn};

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
    input: Mutex<ChildStdin>,
    program: Child,
}

impl Guard {
    /// Starts the guard of a folder and of the processes it will learn of.
    pub(super) fn start(command: &GuardCommand, folder: &Path) -> io::Result<Self> {
        let mut started = Command::new(&command.program);
        started
            .args(&command.arguments)
            .arg(folder)
            .env_clear()
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        // Ctrl-C in a terminal goes to the whole process group: the guard must outlive it.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut started, 0);
        let mut program = spawn::undisturbed(|| started.spawn())?;
        let input = program.stdin.take();
        Ok(Guard {
            input: Mutex::new(input.ok_or(io::ErrorKind::BrokenPipe)?),
            program,
        })
    }

    fn send(&self, sign: char, group: u32) -> io::Result<()> {
        writeln!(self.input.lock(), "{sign}{group}")
    }

    fn finish(self) {
        let Guard { input, mut program } = self;
        drop(input);
        let _ = program.wait();
    }
}

/// Reports process groups to the guard, while there is one.
#[derive(Debug, Default)]
pub(super) struct GuardHandle(Mutex<Option<Guard>>);

impl GuardHandle {
    pub(super) fn begin(&self, guard: Guard) {
        *self.0.lock() = Some(guard);
    }

    pub(super) fn add(&self, group: u32) {
        self.send('+', group);
    }

    pub(super) fn remove(&self, group: u32) {
        self.send('-', group);
    }

    fn send(&self, sign: char, group: u32) {
        let mut guard = self.0.lock();
        let sent = guard.as_ref().map(|guard| guard.send(sign, group));
        // The processes go on without the guard; the log warns about it.
        if let Some(Err(error)) = sent {
            tracing::warn!(%error, "the guard of the processes is gone: if this program is killed, they stay");
            let _ = guard.take().map(|mut guard| guard.program.try_wait());
        }
    }

    /// A process group that ends when the returned value is dropped.
    pub(super) fn hold(&self, group: u32) -> GuardedGroup<'_> {
        self.held(group, false)
    }

    /// The same with the session that it leads.
    pub(super) fn hold_session(&self, group: u32) -> GuardedGroup<'_> {
        self.held(group, true)
    }

    fn held(&self, group: u32, has_session: bool) -> GuardedGroup<'_> {
        self.add(group);
        GuardedGroup {
            group,
            has_session,
            guard: self,
        }
    }

    /// Ends the guard, which kills the processes it still knows of.
    pub(super) async fn finish(&self) {
        let guard = self.0.lock().take();
        if let Some(guard) = guard {
            // It may take its time.
            let _ = tokio::task::spawn_blocking(|| guard.finish()).await;
        }
    }
}

/// A process group that is killed when this is dropped.
#[derive(Debug)]
pub(super) struct GuardedGroup<'a> {
    group: u32,
    has_session: bool,
    guard: &'a GuardHandle,
}

impl Drop for GuardedGroup<'_> {
    fn drop(&mut self) {
        if self.has_session {
            signals::send_to_session(self.group, GroupSignal::Kill);
        } else {
            signals::send(self.group, GroupSignal::Kill);
        }
        self.guard.remove(self.group);
    }
}

/// Ends processes if this program is gone without doing so, by a program that calls [`guard`].
///
/// It is for programs that start processes by themselves; [`Processes`](super::Processes) have one of their own. The program is waited for by
/// nobody: it ends soon after this does.
#[derive(Debug)]
pub struct ProcessGuard(GuardHandle);

impl ProcessGuard {
    /// Starts the program with these arguments and, as the last one, a folder, which is left alone unless it is one of Pods.
    pub fn start<A: Into<OsString>>(
        program: impl Into<PathBuf>,
        arguments: impl IntoIterator<Item = A>,
        folder: &Path,
    ) -> io::Result<Self> {
        let command = GuardCommand {
            program: program.into(),
            arguments: arguments.into_iter().map(Into::into).collect(),
        };
        let handle = GuardHandle::default();
        handle.begin(Guard::start(&command, folder)?);
        Ok(ProcessGuard(handle))
    }

    /// A group of processes is there, to be ended if this program is gone.
    pub fn add(&self, group: u32) {
        self.0.add(group);
    }

    /// The group has ended.
    pub fn remove(&self, group: u32) {
        self.0.remove(group);
    }
}

/// The whole of the program that guards: reads which processes there are and, when the one who writes is gone, ends those
/// that are left and removes the folder. Only a folder that is marked from the start is removed: the marker is the file
/// `.kubewright-pods`, which [`Processes`](super::Processes) put into theirs.
///
/// `kubewright image guard` is that program; who runs processes otherwise gives [`Processes`](super::Processes) one of
/// their own that calls this.
pub fn guard(input: impl Read, folder: &Path) {
    // Checked at the start, because the program that is guarded removes the marker when it ends.
    let is_of_pods = files::is_marked(folder);
    let mut groups = BTreeSet::new();
    for line in BufReader::new(input).lines().map_while(Result::ok) {
        let (sign, number) = line.split_at(line.len().min(1));
        match (sign, number.parse::<u32>()) {
            ("+", Ok(group)) if group > 1 => drop(groups.insert(group)),
            ("-", Ok(group)) => drop(groups.remove(&group)),
            _ => {}
        }
    }
    for group in &groups {
        signals::send_to_session(*group, GroupSignal::Terminate);
    }
    let began = Instant::now();
    while began.elapsed() < GRACE && groups.iter().any(|group| signals::is_alive(*group)) {
        std::thread::sleep(LOOK);
    }
    for group in &groups {
        signals::send_to_session(*group, GroupSignal::Kill);
    }
    // A folder that others could have created, or that is not a folder of Pods, is left alone.
    if is_of_pods && files::is_private(folder).unwrap_or(false) {
        let _ = files::remove_folder(folder);
    }
}
