//! Wall-clock seconds, which only servers on a real clock show.
//!
//! managedFields are ordered by second and then by manager: a run in which a second ends between two managers' writes
//! tells another story than one in which none does, and only the latter can be told again.

use std::time::{Duration, SystemTime};

use serde_json::Value;
use tokio::time::sleep;

/// Whether a second ended between two writes that the answers show.
pub(crate) fn crossed(steps: &[Value]) -> bool {
    steps.iter().any(crossed_in)
}

fn crossed_in(value: &Value) -> bool {
    match value {
        Value::Object(fields) => fields.iter().any(|(key, value)| match (key.as_str(), value) {
            ("managedFields", Value::Array(entries)) => {
                let mut times = entries.iter().filter_map(|entry| entry.get("time"));
                times.next().is_some_and(|first| times.any(|time| time != first))
            }
            (_, value) => crossed_in(value),
        }),
        Value::Array(items) => items.iter().any(crossed_in),
        _ => false,
    }
}

/// Waits for the next second to begin.
pub(crate) async fn next() {
    let past = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default().subsec_millis();
    sleep(Duration::from_millis(u64::from(1000 - past))).await;
}
