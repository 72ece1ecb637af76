//! Where two runs parted that should be the same: equal seeds give equal writes, equal clusters and equal traces.

use kubewright_runtime::trace::{Found, ReadTarget, TraceEvent, TraceRecord};

use super::observation::Observation;
use super::{canonical, compare};
use crate::traffic::JournaledWrite;

/// Where two runs of the same seed parted, if they did.
pub(super) fn parted(one: &Observation, other: &Observation) -> Option<Vec<String>> {
    let writes = |run: &Observation| run.writes.iter().map(write).collect();
    if let Some(parted) = first_difference("write", writes(one), writes(other)) {
        return Some(parted);
    }
    for (step, (one, other)) in one.boundaries.iter().zip(&other.boundaries).enumerate() {
        if let Some(first) = compare::states(step, &one.state, &other.state).into_iter().next() {
            let mut lines = vec![first.name];
            lines.extend(first.details);
            return Some(lines);
        }
    }
    let trace = |run: &Observation| run.trace.iter().filter_map(|record| event(record)).collect();
    first_difference("event", trace(one), trace(other))
}

fn first_difference(what: &str, one: Vec<String>, other: Vec<String>) -> Option<Vec<String>> {
    let at = (0..one.len().max(other.len())).find(|at| one.get(*at) != other.get(*at))?;
    let line = |run: Vec<String>| run.into_iter().nth(at).unwrap_or_else(|| "nothing more".to_owned());
    Some(vec![
        format!("{what} {}: {}", at + 1, line(one)),
        format!("and: {}", line(other)),
    ])
}

fn write(write: &JournaledWrite) -> String {
    let body = write.body.as_ref().map(canonical::body).unwrap_or_default();
    format!("{} {:?} {body}", write.address, write.code)
}

/// A record of a trace without what no two runs share: times, revisions, uids and what was sent.
fn event(record: &TraceRecord) -> Option<String> {
    Some(match &record.event {
        TraceEvent::Observed(change) => {
            format!("sees {} {} {}", change.kind.kind(), change.key, change.change.as_str())
        }
        TraceEvent::Queued { controller, key, .. } => format!("{controller}: {key} is queued"),
        TraceEvent::Began { controller, key, .. } => format!("{controller}: {key} begins"),
        TraceEvent::Read(read) => {
            let found = match read.found {
                Found::Nothing => "nothing".to_owned(),
                Found::Object(_) => "it".to_owned(),
                Found::Objects(count) => count.to_string(),
            };
            match &read.target {
                ReadTarget::Key(key) => format!("reads {} {key}: {found}", read.kind.kind()),
                ReadTarget::List { .. } => format!("lists {}: {found}", read.kind.kind()),
            }
        }
        TraceEvent::Called(call) => format!("{} {}: {:?}", call.verb, call.target, call.code),
        TraceEvent::Ended {
            controller,
            key,
            outcome,
            ..
        } => format!("{controller}: {key} ends: {}", outcome.as_str()),
        TraceEvent::Webhook(call) => format!("webhook {} {} {}", call.path, call.object, call.code),
        _ => return None,
    })
}
