//! Processor time and memory of this process, from the operating system.

use kubewright_system::process::{self, Process};

/// Processor time so far, in seconds.
pub(crate) fn cpu() -> f64 {
    Process::this()
        .and_then(|process| process.cpu_seconds())
        .unwrap_or_default()
}

/// Resident memory, in bytes.
pub(crate) fn resident() -> u64 {
    Process::this()
        .and_then(|process| process.resident_bytes())
        .unwrap_or_default()
}

/// The load of the machine in the last minute.
pub(crate) fn load() -> String {
    process::load_average().unwrap_or_else(|| "unknown".to_owned())
}
