//! What the operating system knows about this process; empty where it does not say.

use std::fmt::Write as _;
use std::fs;

/// The unit of times in `/proc`, the same on every Linux.
const TICKS_PER_SECOND: f64 = 100.0;

/// Writes the `process_` metrics.
pub(super) fn render(text: &mut String) {
    let mut metric = |name: &str, kind: &str, help: &str, value: Option<f64>| {
        if let Some(value) = value {
            let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}\n{name} {value}");
        }
    };
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let cpu = field(&stat, 14)
        .zip(field(&stat, 15))
        .map(|(user, system)| (user + system) / TICKS_PER_SECOND);
    metric(
        "process_cpu_seconds_total",
        "counter",
        "Total user and system CPU time spent in seconds.",
        cpu,
    );
    let open = fs::read_dir("/proc/self/fd").ok().map(|files| files.count() as f64);
    metric("process_open_fds", "gauge", "Number of open file descriptors.", open);
    metric(
        "process_resident_memory_bytes",
        "gauge",
        "Resident memory size in bytes.",
        resident(),
    );
    let began = field(&stat, 22)
        .zip(booted())
        .map(|(ticks, booted)| booted + ticks / TICKS_PER_SECOND);
    let help = "Start time of the process since unix epoch in seconds.";
    metric("process_start_time_seconds", "gauge", help, began);
}

/// A field of `/proc/self/stat`, counted from one as its manual does; the second is a name that may hold anything.
fn field(stat: &str, number: usize) -> Option<f64> {
    let (_, after_name) = stat.rsplit_once(") ")?;
    after_name.split(' ').nth(number.checked_sub(3)?)?.parse().ok()
}

fn booted() -> Option<f64> {
    fs::read_to_string("/proc/stat")
        .ok()?
        .lines()
        .find_map(|line| line.strip_prefix("btime "))?
        .parse()
        .ok()
}

fn resident() -> Option<f64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let kilobytes = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    kilobytes
        .trim()
        .trim_end_matches(" kB")
        .parse::<f64>()
        .ok()
        .map(|kilobytes| kilobytes * 1024.0)
}
