//! Where two runs parted that should be the same: equal seeds give equal writes, equal clusters and equal traces.

use kubewright_runtime::trace::{Found, ReadTarget, TraceEvent, TraceRecord};

use super::observation::Observation;
use super::{canonical, compare};
use crate::traffic::JournaledWrite;

/// Where two runs of the same seed parted, if they did.
pub(super) fn parted(one: &Observation, other: &Observation) -> Option<Vec<String>> {
    let writes = first_difference(&one.writes, &other.writes, is_same_write);
    if let Some((at, pair)) = writes {
        return Some(told("write", at, pair.map(|found| found.map(write))));
    }
    let boundaries = one.boundaries.iter().zip(&other.boundaries).enumerate();
    for (step, (one, other)) in boundaries.filter(|(_, (one, other))| one.state != other.state) {
        if let Some(first) = compare::states(step, &one.state, &other.state).into_iter().next() {
            let mut lines = vec![first.name];
            lines.extend(first.details);
            return Some(lines);
        }
    }
    let trace = |run: &Observation| run.trace.iter().filter_map(|record| event(record)).collect::<Vec<_>>();
    let (one, other) = (trace(one), trace(other));
    let (at, pair) = first_difference(&one, &other, PartialEq::eq)?;
    Some(told("event", at, pair.map(Option::<&String>::cloned)))
}

/// The first position at which two sequences differ, and what each has there.
fn first_difference<'a, T>(
    one: &'a [T],
    other: &'a [T],
    is_same: impl Fn(&T, &T) -> bool,
) -> Option<(usize, [Option<&'a T>; 2])> {
    let differ = |at: &usize| match (one.get(*at), other.get(*at)) {
        (Some(one), Some(other)) => !is_same(one, other),
        _ => true,
    };
    let at = (0..one.len().max(other.len())).find(differ)?;
    Some((at, [one.get(at), other.get(at)]))
}

fn told(what: &str, at: usize, pair: [Option<String>; 2]) -> Vec<String> {
    let [one, other] = pair.map(|line| line.unwrap_or_else(|| "nothing more".to_owned()));
    vec![format!("{what} {}: {one}", at + 1), format!("and: {other}")]
}

/// Whether two writes are the same, but for what no two runs share.
fn is_same_write(one: &JournaledWrite, other: &JournaledWrite) -> bool {
    (&one.address, one.code) == (&other.address, other.code)
        && (one.body == other.body
            || one.body.as_ref().map(canonical::body) == other.body.as_ref().map(canonical::body))
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
