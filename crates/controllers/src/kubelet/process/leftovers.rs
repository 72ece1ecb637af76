//! What a program left behind that was killed together with its guard: processes of Pods, and their folder.
//!
//! The marker of a folder says whose it is. A program that uses a folder looks at those beside it, and clears what belongs to nobody any
//! more. Only Linux tells enough of processes for that.

use std::fs;
use std::path::Path;

use super::files;
#[cfg(target_os = "linux")]
use super::signals::{self, GroupSignal};

/// A running program: its process id, when that began, and the namespace in which the id means something.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Owner {
    id: u32,
    began: u64,
    namespace: String,
}

impl Owner {
    /// The program that is a process.
    fn of(id: u32) -> Option<Self> {
        let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
        // The name of the program may hold anything. The time of its start is the twentieth field behind it.
        let (_, fields) = stat.rsplit_once(')')?;
        let began = fields.split_whitespace().nth(19)?.parse().ok()?;
        Some(Owner {
            id,
            began,
            namespace: namespace()?,
        })
    }

    fn parse(text: &str) -> Option<Self> {
        let mut words = text.strip_prefix("owner ")?.split_whitespace();
        let owner = Owner {
            id: words.next()?.parse().ok()?,
            began: words.next()?.parse().ok()?,
            namespace: words.next()?.to_owned(),
        };
        Some(owner)
    }

    /// Whether it is known to run no more. One of another namespace may be alive there.
    fn is_gone(&self) -> bool {
        namespace().is_some_and(|here| here == self.namespace) && Owner::of(self.id).as_ref() != Some(self)
    }
}

/// The namespace of this program's process id, in words that no other boot of the machine uses.
fn namespace() -> Option<String> {
    let namespace = fs::read_link("/proc/self/ns/pid").ok()?;
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(format!("{}@{}", namespace.display(), boot.trim()))
}

/// What the marker of a folder says that this program uses.
pub(super) fn marker() -> String {
    match Owner::of(std::process::id()) {
        Some(Owner { id, began, namespace }) => format!("owner {id} {began} {namespace}\n"),
        None => "Removed with its server.\n".to_owned(),
    }
}

/// Clears what is left of programs that used folders beside this one and are gone.
pub(super) fn clear_beside(folder: &Path) {
    let Some(above) = folder.parent() else { return };
    for entry in fs::read_dir(above).into_iter().flatten().filter_map(Result::ok) {
        let path = entry.path();
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if is_folder && path != folder && files::is_private(&path).unwrap_or(false) && belongs_to_nobody(&path) {
            end_processes_in(&path);
            match files::remove_folder(&path) {
                Ok(()) => tracing::info!(folder = %path.display(), "cleared what a killed server left behind"),
                Err(error) => tracing::warn!(%error, folder = %path.display(), "files of Pods are left behind"),
            }
        }
    }
}

fn belongs_to_nobody(folder: &Path) -> bool {
    let owner = files::marker_of(folder).and_then(|text| Owner::parse(&text));
    owner.is_some_and(|owner| owner.is_gone())
}

/// Ends the processes that were started with a folder among their variables: `TMPDIR` of all those of Pods is in it. Whoever only works in
/// the folder, such as a shell, is left alone.
#[cfg(target_os = "linux")]
fn end_processes_in(folder: &Path) {
    let wanted = [folder.as_os_str().as_encoded_bytes(), b"/"].concat();
    let own = std::process::id();
    let own_group = super::table::processes().find_map(|process| (process.id == own).then_some(process.group));
    for process in super::table::processes() {
        // Those of other users cannot be read.
        let variables = fs::read(format!("/proc/{}/environ", process.id)).unwrap_or_default();
        let names_it = variables.windows(wanted.len()).any(|part| part == wanted);
        // This program may have been started by one of them.
        if names_it && process.group > 1 && Some(process.group) != own_group {
            signals::send_to_session(process.group, GroupSignal::Kill);
        }
    }
}

/// No folder is known to belong to nobody here.
#[cfg(not(target_os = "linux"))]
fn end_processes_in(_: &Path) {}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::os::unix::process::CommandExt as _;
    use std::process::{Command, Stdio};

    use super::*;

    fn marked(folder: &Path, text: &str) {
        files::private_folder(folder).unwrap();
        files::write_new(&folder.join(files::MARKER), text.as_bytes(), 0o600).unwrap();
    }

    #[test]
    fn what_belongs_to_nobody_is_cleared_with_its_processes() {
        let home = tempfile::tempdir().unwrap();
        let at = |name: &str| home.path().join(name);
        let mut ended = Command::new("true").spawn().unwrap();
        let gone = Owner::of(ended.id()).unwrap();
        ended.wait().unwrap();
        let text = format!("owner {} {} {}\n", gone.id, gone.began, gone.namespace);
        marked(&at("left"), &text);
        marked(&at("used"), &marker());
        marked(&at("elsewhere"), &text.replace("pid:", "other:"));
        marked(&at("older"), "Removed with its server.\n");
        files::private_folder(&at("own")).unwrap();
        let mut process = Command::new("cat")
            .current_dir(at("left"))
            .env("TMPDIR", at("left").join("tmp"))
            .stdin(Stdio::piped())
            .process_group(0)
            .spawn()
            .unwrap();

        clear_beside(&at("own"));
        assert!(!process.wait().unwrap().success());
        let there = |name: &str| at(name).exists();
        assert!(!there("left"));
        assert!(there("used") && there("elsewhere") && there("older") && there("own"));
    }
}
