//! What the operating system says of this process.

use std::fs;

/// The unit of times in `/proc`, the same on every Linux.
const TICKS_PER_SECOND: f64 = 100.0;

/// Processor time so far, in seconds.
pub(crate) fn cpu() -> f64 {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let Some((_, after_name)) = stat.rsplit_once(") ") else {
        return 0.0;
    };
    // The manual counts fields from one; the first two are cut off.
    let ticks = |number: usize| {
        after_name
            .split(' ')
            .nth(number - 3)
            .and_then(|text| text.parse::<f64>().ok())
    };
    (ticks(14).unwrap_or_default() + ticks(15).unwrap_or_default()) / TICKS_PER_SECOND
}

/// Resident memory, in bytes.
pub(crate) fn resident() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kilobytes.unwrap_or_default() * 1024
}

/// The load of the machine in the last minute.
pub(crate) fn load() -> String {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').next().unwrap_or("unknown").to_owned()
}
