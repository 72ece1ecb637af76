//! The names of the IANA time zones; what their clocks do is not asked here.

use std::collections::HashSet;
use std::sync::OnceLock;

/// Whether there is a zone of that name.
pub(crate) fn exists(name: &str) -> bool {
    static NAMES: OnceLock<HashSet<&'static str>> = OnceLock::new();
    matches!(name, "" | "UTC" | "Local")
        || NAMES
            .get_or_init(|| include_str!("time_zones.txt").lines().collect())
            .contains(name)
}

/// Why Go's time package does not take a name: it looks for a file of that name, and only where it should.
pub(crate) fn refusal(name: &str) -> String {
    if name.contains("..") || name.starts_with(['/', '\\']) {
        return "time: invalid location name".to_owned();
    }
    format!("unknown time zone {name}")
}
