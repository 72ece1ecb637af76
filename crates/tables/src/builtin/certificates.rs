//! Requests for certificates and how far they have come.

use jiff::Timestamp;
use serde_json::Value;

use super::{cells, name};
use crate::age;
use crate::read::{condition, text, text_or};
use crate::row::Cell;

const SECOND: i64 = 1_000_000_000;

pub(super) fn signing_request(object: &Value, now: Timestamp) -> Vec<Cell> {
    let spec = &object["spec"];
    let duration = match spec["expirationSeconds"].as_i64() {
        None => "<none>".into(),
        Some(seconds) => age::human_duration(seconds.saturating_mul(SECOND)),
    };
    cells![
        name(object),
        age::of(object, now),
        text_or(&spec["signerName"], "<none>"),
        text(&spec["username"]),
        duration,
        state(&object["status"]),
    ]
}

fn state(status: &Value) -> String {
    let has = |kind| condition(&status["conditions"], kind).is_some();
    let mut state = if has("Denied") {
        "Denied"
    } else if has("Approved") {
        "Approved"
    } else {
        "Pending"
    }
    .to_owned();
    if has("Failed") {
        state.push_str(",Failed");
    }
    if !text(&status["certificate"]).is_empty() {
        state.push_str(",Issued");
    }
    state
}
