//! The ends of wall-clock seconds, which change the responses of servers on a real clock.
//!
//! managedFields are ordered by second and then by manager. A run in which a second ends between the writes of two managers has
//! another transcript than a run in which none does, and only the latter can be repeated. Cases that call webhooks take too long
//! for that, so their transcripts order managers as if no second had ended.

use std::time::{Duration, SystemTime};

use serde_json::Value;
use tokio::time::sleep;

use crate::case::CaseFile;

/// Whether a second ended between two writes and the transcript depends on it.
pub(crate) fn crossed(file: &CaseFile, steps: &[Value]) -> bool {
    !file.calls_webhooks() && steps.iter().any(crossed_in)
}

/// The fields of a managedFields entry that decide its order among entries of the same second.
pub(crate) fn untimed(entry: &Value) -> [String; 4] {
    ["operation", "manager", "apiVersion", "subresource"].map(|key| entry[key].as_str().unwrap_or_default().to_owned())
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
