//! The process in numbers, under `client_golang`'s names. Read from `/proc`; elsewhere there are none.

use std::fs;
use std::time::Duration;

use super::registry::{Registry, RegistryError};

/// Linux tells CPU time in hundredths of a second to programs, whatever the kernel counts in.
const TICKS_PER_SECOND: f64 = 100.0;

pub(super) fn register(registry: &Registry) -> Result<(), RegistryError> {
    let cpu = registry.counter(
        "process_cpu_seconds_total",
        "Total user and system CPU time spent in seconds.",
        [],
    )?;
    let resident = registry.gauge("process_resident_memory_bytes", "Resident memory size in bytes.", [])?;
    let virtual_memory = registry.gauge("process_virtual_memory_bytes", "Virtual memory size in bytes.", [])?;
    let open = registry.gauge("process_open_fds", "Number of open file descriptors.", [])?;
    let started = registry.gauge(
        "process_start_time_seconds",
        "Start time of the process since unix epoch in seconds.",
        [],
    )?;
    registry.before_render(move || {
        if let Some(process) = Process::read() {
            cpu.with([]).advance_to(process.cpu.as_secs_f64());
            resident.with([]).set(process.resident as f64);
            virtual_memory.with([]).set(process.virtual_memory as f64);
            if let Some(start) = process.started {
                started.with([]).set(start);
            }
        }
        if let Ok(entries) = fs::read_dir("/proc/self/fd") {
            open.with([]).set(entries.count() as f64);
        }
    });
    Ok(())
}

struct Process {
    cpu: Duration,
    resident: u64,
    virtual_memory: u64,
    started: Option<f64>,
}

impl Process {
    fn read() -> Option<Process> {
        let status = fs::read_to_string("/proc/self/status").ok()?;
        let kilobytes = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name))?;
            line.split_whitespace().next()?.parse::<u64>().ok()
        };
        let stat = fs::read_to_string("/proc/self/stat").ok()?;
        let booted = fs::read_to_string("/proc/stat").ok();
        let booted = booted
            .as_deref()
            .and_then(|stat| stat.lines().find_map(|line| line.strip_prefix("btime ")));
        let (cpu, after_boot) = times(&stat)?;
        Some(Process {
            cpu,
            resident: kilobytes("VmRSS:")?.saturating_mul(1024),
            virtual_memory: kilobytes("VmSize:")?.saturating_mul(1024),
            started: booted
                .and_then(|at| at.trim().parse::<f64>().ok())
                .map(|boot| boot + after_boot),
        })
    }
}

/// CPU time so far and seconds from boot to start. The second field is the program's name and may hold anything, so fields are
/// counted from its closing parenthesis.
fn times(stat: &str) -> Option<(Duration, f64)> {
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    // Numbered from 3 on in proc(5): 14 and 15 are user and system time, 22 is the start.
    let ticks = |number: usize| {
        fields
            .get(number - 3)?
            .parse::<u64>()
            .ok()
            .map(|ticks| ticks as f64 / TICKS_PER_SECOND)
    };
    let used = Duration::try_from_secs_f64(ticks(14)? + ticks(15)?).ok()?;
    Some((used, ticks(22)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_with_spaces_and_parentheses_in_its_name_is_read_right() {
        let stat = "42 (a ) b) S 1 2 3 4 5 6 7 8 9 10 150 50 0 0 20 0 4 0 12300 999 888";
        let (cpu, started) = times(stat).unwrap();
        assert_eq!(cpu, Duration::from_secs(2));
        assert!((started - 123.0).abs() < f64::EPSILON);
        assert!(times("nonsense").is_none());
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn this_process_has_memory_and_a_start() {
        let registry = Registry::new();
        register(&registry).unwrap();
        let text = registry.render();
        assert!(text.contains("\nprocess_resident_memory_bytes "));
        assert!(text.contains("\nprocess_start_time_seconds 1"), "{text}");
    }
}
