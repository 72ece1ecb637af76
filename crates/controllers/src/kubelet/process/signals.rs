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

/// This system has no process groups: each process is ended by the task that waits for it.
#[cfg(not(unix))]
pub(super) fn send(_: u32, _: GroupSignal) -> bool {
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
