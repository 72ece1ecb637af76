//! Processor time and memory of processes, from `/proc` on Linux; other systems have none.

use std::fs;
use std::path::PathBuf;

/// `/proc` has processor time in hundredths of a second, whatever the kernel counts in.
const TICKS_PER_SECOND: f64 = 100.0;

/// What Linux said of a process at one moment.
#[derive(Clone, Debug)]
pub struct Process {
    folder: PathBuf,
    stat: String,
    status: String,
}

impl Process {
    /// This process now.
    pub fn this() -> Option<Self> {
        let folder = PathBuf::from("/proc/self");
        Some(Process {
            stat: fs::read_to_string(folder.join("stat")).ok()?,
            status: fs::read_to_string(folder.join("status")).ok()?,
            folder,
        })
    }

    /// Processor time it used so far, in seconds.
    pub fn cpu_seconds(&self) -> Option<f64> {
        Some(seconds(&self.stat, 14)? + seconds(&self.stat, 15)?)
    }

    /// Resident memory.
    pub fn resident_bytes(&self) -> Option<u64> {
        self.bytes("VmRSS")
    }

    /// Virtual memory.
    fn virtual_bytes(&self) -> Option<u64> {
        self.bytes("VmSize")
    }

    /// Memory by the name that `/proc/<pid>/status` has for it, such as `VmHWM`.
    pub fn bytes(&self, name: &str) -> Option<u64> {
        let kilobytes = status_field(&self.status, name)?
            .split(' ')
            .next()?
            .parse::<u64>()
            .ok()?;
        Some(kilobytes.saturating_mul(1024))
    }

    /// How many file descriptors it has open.
    fn open_files(&self) -> Option<usize> {
        fs::read_dir(self.folder.join("fd")).ok().map(Iterator::count)
    }

    /// When it started, in seconds since 1970.
    fn start_time(&self) -> Option<f64> {
        let stat = fs::read_to_string("/proc/stat").ok()?;
        let booted = stat.lines().find_map(|line| line.strip_prefix("btime "))?;
        Some(booted.trim().parse::<f64>().ok()? + seconds(&self.stat, 22)?)
    }
}

/// A metric of a process, under `client_golang`'s name.
#[derive(Clone, Copy, Debug)]
pub struct ProcessMetric {
    /// Its name.
    pub name: &'static str,
    /// Whether it only grows.
    pub is_counter: bool,
    /// What it means.
    pub help: &'static str,
    /// Its value.
    pub value: fn(&Process) -> Option<f64>,
}

/// The metrics that `client_golang`'s process collector has on Linux, by name.
pub const METRICS: [ProcessMetric; 5] = [
    ProcessMetric {
        name: "process_cpu_seconds_total",
        is_counter: true,
        help: "Total user and system CPU time spent in seconds.",
        value: Process::cpu_seconds,
    },
    ProcessMetric {
        name: "process_open_fds",
        is_counter: false,
        help: "Number of open file descriptors.",
        value: |process| process.open_files().map(|open| open as f64),
    },
    ProcessMetric {
        name: "process_resident_memory_bytes",
        is_counter: false,
        help: "Resident memory size in bytes.",
        value: |process| process.resident_bytes().map(|bytes| bytes as f64),
    },
    ProcessMetric {
        name: "process_start_time_seconds",
        is_counter: false,
        help: "Start time of the process since unix epoch in seconds.",
        value: Process::start_time,
    },
    ProcessMetric {
        name: "process_virtual_memory_bytes",
        is_counter: false,
        help: "Virtual memory size in bytes.",
        value: |process| process.virtual_bytes().map(|bytes| bytes as f64),
    },
];

/// The load of the machine in the last minute, as Linux writes it.
pub fn load_average() -> Option<String> {
    let text = fs::read_to_string("/proc/loadavg").ok()?;
    text.split(' ').next().map(str::to_owned)
}

/// A field of `/proc/<pid>/status`.
pub fn status_field<'s>(status: &'s str, name: &str) -> Option<&'s str> {
    let fields = status.lines().filter_map(|line| line.split_once(':'));
    let (_, value) = fields.into_iter().find(|(found, _)| *found == name)?;
    Some(value.trim())
}

/// A time in `/proc/<pid>/stat`. Fields are numbered from one, as in proc(5); the second is the program's name and may hold
/// anything, so they are counted from its closing parenthesis.
fn seconds(stat: &str, number: usize) -> Option<f64> {
    let (_, fields) = stat.rsplit_once(')')?;
    let ticks = fields.split_whitespace().nth(number.checked_sub(3)?)?;
    Some(ticks.parse::<u64>().ok()? as f64 / TICKS_PER_SECOND)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_with_spaces_and_parentheses_in_its_name_is_read_right() {
        let stat = "42 (a ) b) S 1 2 3 4 5 6 7 8 9 10 150 50 0 0 20 0 4 0 12300 999 888";
        assert_eq!(
            [14, 15, 22].map(|number| seconds(stat, number)),
            [Some(1.5), Some(0.5), Some(123.0)]
        );
        assert!(seconds("nonsense", 14).is_none());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn this_process_has_every_metric() {
        let process = Process::this().unwrap();
        for metric in METRICS {
            assert!(
                (metric.value)(&process).is_some_and(|value| value >= 0.0),
                "{}",
                metric.name
            );
        }
        assert!(METRICS.is_sorted_by_key(|metric| metric.name));
        assert!(load_average().is_some());
    }
}
