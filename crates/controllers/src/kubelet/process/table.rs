//! The processes of this machine by their groups and sessions, from `/proc`.

use std::fs;

/// Where a process belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Process {
    pub(super) id: u32,
    pub(super) group: u32,
    pub(super) session: u32,
}

/// All processes there are.
pub(super) fn processes() -> impl Iterator<Item = Process> {
    let entries = fs::read_dir("/proc").into_iter().flatten();
    let ids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    ids.filter_map(|id: u32| parse(id, &fs::read_to_string(format!("/proc/{id}/stat")).ok()?))
}

/// Reads `/proc/<pid>/stat`. The name of the program may hold anything, so that fields are counted from its closing parenthesis.
fn parse(id: u32, stat: &str) -> Option<Process> {
    let (_, fields) = stat.rsplit_once(')')?;
    // Its state and its parent come before.
    let mut fields = fields.split_whitespace().skip(2);
    let mut next = || fields.next()?.parse().ok();
    Some(Process {
        id,
        group: next()?,
        session: next()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_found_with_its_group_and_session() {
        let own = std::process::id();
        let found = processes().find(|process| process.id == own).unwrap();
        let group = rustix::process::getpgrp().as_raw_nonzero().get();
        assert_eq!(i64::from(found.group), i64::from(group));
        assert_eq!(
            parse(7, "7 (a ) (b) S 1 70 71 0 -1"),
            Some(Process {
                id: 7,
                group: 70,
                session: 71
            })
        );
        assert_eq!(parse(7, "nonsense"), None);
    }
}
