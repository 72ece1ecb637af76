//! Measurements as tables.

use std::fmt::Write as _;

use crate::process;
use crate::scale::Row;
use crate::start::Start;

const MEGABYTE: f64 = 1024.0 * 1024.0;

pub(crate) fn head() -> String {
    let profile = if cfg!(debug_assertions) { "debug" } else { "release" };
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    format!(
        "the standard controllers on the embedded server; built for {profile}, {cores} cores, load {}\n",
        process::load()
    )
}

pub(crate) fn starts(starts: &[Start]) -> String {
    let mut text = String::new();
    let Some(first) = starts.first() else {
        return text;
    };
    let _ = writeln!(
        text,
        "{:32} {:>12} {:>12} {:>12} {:>12} {:>9}",
        "what runs",
        "start",
        "CPU",
        format!("{} at once", first.clusters),
        "memory each",
        "watches"
    );
    for start in starts {
        let _ = writeln!(
            text,
            "{:32} {:>9.1} ms {:>9.1} ms {:>9.0} ms {:>9.2} MB {:>9}",
            start.what,
            start.alone * 1e3,
            start.cpu * 1e3,
            start.together * 1e3,
            start.resident as f64 / MEGABYTE,
            start.watches
        );
    }
    text.push('\n');
    text
}

pub(crate) fn rows(rows: &[Row]) -> String {
    let mut text = String::new();
    if rows.is_empty() {
        return text;
    }
    let _ = writeln!(
        text,
        "{:8} {:>8} {:>10} {:>10} {:>10} {:>10} {:>10} {:>12} {:>12}",
        "phase", "Pods", "settled", "quiet", "Pods/s", "writes", "CPU", "CPU of a Pod", "memory"
    );
    for phase in ["create", "roll", "delete"] {
        for row in rows.iter().filter(|row| row.phase == phase) {
            let _ = writeln!(
                text,
                "{:8} {:>8} {:>8.2} s {:>8.2} s {:>10.0} {:>10} {:>8.2} s {:>9.2} ms {:>9.0} MB",
                row.phase,
                row.pods,
                row.settled,
                row.quiet,
                row.pods as f64 / row.settled.max(1e-9),
                row.writes,
                row.cpu,
                row.cpu * 1e3 / row.pods.max(1) as f64,
                row.resident as f64 / MEGABYTE
            );
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_grouped_by_phase_so_that_a_column_is_a_curve() {
        let row = |phase: &str, pods: usize, settled: f64| Row {
            phase: phase.to_owned(),
            pods,
            settled,
            quiet: settled,
            writes: 10,
            cpu: 1.0,
            resident: 1 << 20,
        };
        let text = rows(&[
            row("create", 500, 0.5),
            row("delete", 500, 1.0),
            row("create", 5000, 5.0),
        ]);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 4, "{text}");
        assert!(lines[1].starts_with("create") && lines[1].contains("1000"), "{text}");
        assert!(lines[2].starts_with("create") && lines[2].contains("5000"), "{text}");
        assert!(lines[3].starts_with("delete"), "{text}");
    }
}
