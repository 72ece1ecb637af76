//! Signals to the group of processes that a container is.

/// What a group is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tell {
    /// To end in good order.
    End,
    /// Nothing: it is ended.
    Kill,
}

/// Tells every process of a group. Whether there was one to tell.
#[cfg(unix)]
pub(super) fn tell(group: u32, what: Tell) -> bool {
    use rustix::process::{Pid, Signal, kill_process_group};
    let signal = match what {
        Tell::End => Signal::TERM,
        Tell::Kill => Signal::KILL,
    };
    let group = i32::try_from(group).ok().and_then(Pid::from_raw);
    group.is_some_and(|group| kill_process_group(group, signal).is_ok())
}

/// Groups are not known here: each process is ended by whoever waits for it.
#[cfg(not(unix))]
pub(super) fn tell(_: u32, _: Tell) -> bool {
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
