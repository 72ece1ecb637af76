//! One run of a container's process, as those see it who connect to it.

use std::collections::BTreeSet;
use std::path::PathBuf;

use parking_lot::Mutex;
use tokio::sync::watch;

use super::action::Launch;
use super::console::Console;
use super::images::Image;
#[cfg(unix)]
use super::tar::ContainerFiles;

/// One run of a container's process.
pub(super) struct Run {
    /// How the process was started.
    pub(super) launch: Launch,
    pub(super) image: Image,
    /// The folder that the container takes for its root.
    pub(super) root: PathBuf,
    pub(super) mount_paths: Vec<String>,
    #[cfg(unix)]
    pub(super) files: ContainerFiles,
    pub(super) console: Console,
    /// The groups of processes that belong to it: its own, and those of commands.
    groups: Mutex<BTreeSet<u32>>,
    /// Whether it has ended. Commands keep a receiver as long as they have processes or files.
    ended: watch::Sender<bool>,
}

/// What a run is made of.
pub(super) struct RunParts {
    pub(super) launch: Launch,
    pub(super) image: Image,
    pub(super) root: PathBuf,
    pub(super) mount_paths: Vec<String>,
    #[cfg(unix)]
    pub(super) files: ContainerFiles,
}

impl Run {
    pub(super) fn new(parts: RunParts, console: Console, group: Option<u32>) -> Self {
        Run {
            launch: parts.launch,
            image: parts.image,
            root: parts.root,
            mount_paths: parts.mount_paths,
            #[cfg(unix)]
            files: parts.files,
            console,
            groups: Mutex::new(group.into_iter().collect()),
            ended: watch::Sender::new(false),
        }
    }

    /// Whether it has ended, for a command in it. It is waited for until it drops this.
    pub(super) fn ended(&self) -> watch::Receiver<bool> {
        self.ended.subscribe()
    }

    /// Ends all commands in it, and waits for that.
    pub(super) async fn end_commands(&self) {
        self.ended.send_replace(true);
        self.ended.closed().await;
    }

    /// The groups of processes in it.
    #[cfg(target_os = "linux")]
    pub(super) fn groups(&self) -> BTreeSet<u32> {
        self.groups.lock().clone()
    }

    /// Has a group belong to it until the returned value is dropped.
    pub(super) fn list(&self, group: u32) -> ListedGroup<'_> {
        self.groups.lock().insert(group);
        ListedGroup { group, run: self }
    }
}

/// A group of processes that belongs to a run until this is dropped.
pub(super) struct ListedGroup<'r> {
    group: u32,
    run: &'r Run,
}

impl Drop for ListedGroup<'_> {
    fn drop(&mut self) {
        self.run.groups.lock().remove(&self.group);
    }
}
