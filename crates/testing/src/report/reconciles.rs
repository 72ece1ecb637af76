//! The last reconciles of a controller, from the trace: why, what they asked for, how they ended.

use std::sync::Arc;
use std::time::Duration;

use kubewright_runtime::object::ObjectKey;
use kubewright_runtime::trace::{Cause, Change, TraceEvent, TraceRecord};

/// How many reconciles of a controller a failure lists.
const MOST: usize = 5;
/// How many lines of one reconcile.
const MOST_LINES: usize = 8;

/// The last reconciles of an object, or the last failures of any, the oldest first.
pub(super) fn last(
    records: &[Arc<TraceRecord>],
    controller: &str,
    key: Option<&ObjectKey>,
    now: Duration,
) -> Vec<String> {
    let ended = records
        .iter()
        .enumerate()
        .rev()
        .filter(|(_, record)| match &record.event {
            TraceEvent::Ended {
                controller: by,
                key: of,
                error,
                ..
            } => &**by == controller && key.map_or(error.is_some(), |key| key == of),
            _ => false,
        });
    let mut ended: Vec<usize> = ended.take(MOST).map(|(at, _)| at).collect();
    ended.reverse();
    ended.into_iter().flat_map(|at| reconcile(records, at, now)).collect()
}

/// The reconcile that ended with a record: a line for its end, as `  0.002s ago test/roses: error: the beds are full`, and below it
/// what led to it and what it did.
fn reconcile(records: &[Arc<TraceRecord>], end: usize, now: Duration) -> Vec<String> {
    let TraceEvent::Ended {
        controller,
        key,
        outcome,
        error,
        ..
    } = &records[end].event
    else {
        return Vec::new();
    };
    let (outcome, ago) = (outcome.as_str(), now.saturating_sub(records[end].at).as_secs_f64());
    let mut lines = vec![match error {
        Some(error) => format!("  {ago:.3}s ago {key}: {outcome}: {error}"),
        None => format!("  {ago:.3}s ago {key}: {outcome}"),
    }];
    let id = records[end].reconcile;
    let began = records[..end]
        .iter()
        .rposition(|record| record.reconcile == id && matches!(record.event, TraceEvent::Began { .. }));
    let mut details = Vec::new();
    if let Some(began) = began {
        let causes = causes(&records[..began], controller, key);
        if !causes.is_empty() {
            details.push(format!("because {}", causes.join(", ")));
        }
        let own = records[began..end].iter().filter(|record| record.reconcile == id);
        details.extend(own.filter_map(|record| detail(&record.event)));
    }
    let more = details.len().saturating_sub(MOST_LINES);
    details.truncate(MOST_LINES);
    if more > 0 {
        details.push(format!("… {more} more"));
    }
    lines.extend(details.into_iter().map(|detail| format!("    {detail}")));
    lines
}

/// What asked for a reconcile since the one before it began, each reason once.
fn causes(before: &[Arc<TraceRecord>], controller: &str, key: &ObjectKey) -> Vec<String> {
    let mut causes = Vec::new();
    for record in before.iter().rev() {
        match &record.event {
            TraceEvent::Began {
                controller: by,
                key: of,
                ..
            } if **by == *controller && of == key => break,
            TraceEvent::Queued {
                controller: by,
                key: of,
                cause,
                ..
            } if **by == *controller && of == key => causes.push(reason(cause)),
            _ => {}
        }
    }
    causes.reverse();
    causes.dedup();
    causes
}

fn reason(cause: &Cause) -> String {
    match cause {
        Cause::Object(change) => {
            let kind = change.kind.kind();
            match change.change {
                Change::Listed => format!("{kind} is there"),
                other => format!("{kind} {}", other.as_str()),
            }
        }
        Cause::Source => "a source asked".to_owned(),
        Cause::Again(outcome) => format!("again after {}", outcome.as_str()),
    }
}

/// What a reconcile asked of the server, and what it logged. What it read from the cache is left out.
fn detail(event: &TraceEvent) -> Option<String> {
    match event {
        TraceEvent::Called(call) => Some(call.to_string()),
        TraceEvent::Logged(line) => Some(format!("{} {}", line.level, line.message)),
        _ => None,
    }
}
