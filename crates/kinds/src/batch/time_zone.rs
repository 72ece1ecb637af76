//! The names of the IANA time zones, without their rules.

use std::collections::HashSet;
use std::sync::OnceLock;

/// Whether there is a zone of that name; the error is that of Go's `time.LoadLocation`, which looks for a file of that name.
pub(crate) fn check(name: &str) -> Result<(), String> {
    static NAMES: OnceLock<HashSet<&'static str>> = OnceLock::new();
    let names = || NAMES.get_or_init(|| include_str!("time_zones.txt").lines().collect());
    if matches!(name, "" | "UTC" | "Local") || names().contains(name) {
        return Ok(());
    }
    Err(if name.contains("..") || name.starts_with(['/', '\\']) {
        "time: invalid location name".to_owned()
    } else {
        format!("unknown time zone {name}")
    })
}
