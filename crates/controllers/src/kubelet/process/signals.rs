//! Signals to the group of processes that a container is.

/// A signal to a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GroupSignal {
    /// SIGTERM.
    Terminate,
    /// SIGKILL.
    Kill,
}

/// Sends a signal to every process of a group. Whether there was one.
#[cfg(unix)]
pub(super) fn send(group: u32, signal: GroupSignal) -> bool {
    use rustix::process::{Pid, Signal, kill_process_group};
    let signal = match signal {
        GroupSignal::Terminate => Signal::TERM,
        GroupSignal::Kill => Signal::KILL,
    };
    let group = i32::try_from(group).ok().and_then(Pid::from_raw);
    group.is_some_and(|group| kill_process_group(group, signal).is_ok())
}

/// Sends a signal to every process of a group and, if it leads a session, of the other groups in that: a shell on a terminal makes a group
/// for each of its jobs. Whether there was one in the group itself.
#[cfg(unix)]
pub(super) fn send_to_session(group: u32, signal: GroupSignal) -> bool {
    // They are looked for before the leader is gone.
    let others = others_of_session(group);
    let is_sent = send(group, signal);
    for other in others {
        send(other, signal);
    }
    is_sent
}

/// The other groups of the session that a group leads.
#[cfg(target_os = "linux")]
fn others_of_session(leader: u32) -> std::collections::BTreeSet<u32> {
    let members = super::table::processes().filter(|process| process.session == leader && process.group != leader);
    members.map(|process| process.group).collect()
}

/// Elsewhere, those are told by the terminal that hangs up.
#[cfg(all(unix, not(target_os = "linux")))]
fn others_of_session(_: u32) -> Option<u32> {
    None
}

/// This system has no process groups: each process is ended by the task that waits for it.
#[cfg(not(unix))]
pub(super) fn send(_: u32, _: GroupSignal) -> bool {
    false
}

/// Nor has it sessions.
#[cfg(not(unix))]
pub(super) fn send_to_session(_: u32, _: GroupSignal) -> bool {
    false
}

/// Whether a process of this group lives.
#[cfg(unix)]
pub(super) fn is_alive(group: u32) -> bool {
    let group = i32::try_from(group).ok().and_then(rustix::process::Pid::from_raw);
    group.is_some_and(|group| rustix::process::test_kill_process_group(group).is_ok())
}

/// Groups are not known here.
#[cfg(not(unix))]
pub(super) fn is_alive(_: u32) -> bool {
    false
}
