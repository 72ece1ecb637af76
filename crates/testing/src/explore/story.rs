//! What happened in a run, told from its trace: what reconciles had read and wrote, what others did meanwhile, and where the plan struck.

use std::collections::BTreeMap;

use kubewright_runtime::object::ObjectKey;
use kubewright_runtime::trace::{
    ApiCall, CacheRead, Cause, Change, Found, ReadTarget, ReconcileId, TraceEvent, TraceRecord,
};

use super::observation::{ClusterChange, Observation};
use super::plan::{Disturbance, Plan};
use super::story_event::{ObjectStory, ReadStory, StoryEvent, StoryEventKind};
use crate::traffic::{JournaledWrite, Strike, WebhookTrouble};

/// How many lines are told.
const MOST_LINES: usize = 40;
/// How many of them come before the strike.
const LINES_BEFORE: usize = 12;
/// What marks the strike.
const MARK: &str = "⚡";

/// The story of a run, event by event: a line of a report each.
pub(super) fn events(run: &Observation, names: &[String], plan: Option<&Plan>) -> Vec<StoryEvent> {
    let mut teller = Teller {
        run,
        plan,
        names,
        step: None,
        reconciles: BTreeMap::new(),
        writes: run.writes.iter().filter(|write| write.step != usize::MAX).peekable(),
        changes: run.changes.iter().filter(|change| is_told(run, change)).peekable(),
        events: Vec::new(),
    };
    for record in &run.trace {
        teller.until(record.sequence, record.server.unwrap_or_default());
        teller.record(record);
    }
    teller.until(u64::MAX, u64::MAX);
    let mut events = teller.events;
    if let Some(plan) = plan
        && is_after_a_step(&plan.disturbance)
        && !events.iter().any(is_strike)
    {
        events.push(StoryEvent::new(0, StoryEventKind::Strike, format!("{MARK} {plan}")));
    }
    shorten(events)
}

fn is_before_a_step(disturbance: &Disturbance) -> bool {
    matches!(
        disturbance,
        Disturbance::Restart
            | Disturbance::Down
            | Disturbance::Read(..)
            | Disturbance::WebhooksDown
            | Disturbance::Foreign(_)
            | Disturbance::Late(_, None)
            | Disturbance::Forbid(_)
            | Disturbance::Clock(_)
    )
}

fn is_after_a_step(disturbance: &Disturbance) -> bool {
    matches!(
        disturbance,
        Disturbance::Delete(_)
            | Disturbance::Edit(_)
            | Disturbance::Recreate(_)
            | Disturbance::Hold(_)
            | Disturbance::FailNode(_)
            | Disturbance::LoseNode(_)
            | Disturbance::Spec(_)
    )
}

fn is_strike(event: &StoryEvent) -> bool {
    event.text.contains(MARK)
}

/// Whether a change came of a write of the operator.
fn came_of(change: &ClusterChange, write: &JournaledWrite) -> bool {
    let resource = write.address.resource.split('/').next().unwrap_or_default();
    let name = &write.address.name;
    let is_named = match name.strip_suffix('*') {
        Some(prefix) => change.name.name.starts_with(prefix),
        None => change.name.name == *name,
    };
    write.effective
        && resource == change.name.resource
        && is_named
        && (write.revision + 1..=write.revision_after).contains(&change.revision)
}

/// Others' changes of what the operator watches. Its own are told as its writes.
fn is_told(run: &Observation, change: &ClusterChange) -> bool {
    let began = run.began.first().copied().unwrap_or_default();
    change.revision > began
        && run.watched.contains(&change.name.resource)
        && !run.writes.iter().any(|write| came_of(change, write))
}

/// The events around the strike.
fn shorten(mut events: Vec<StoryEvent>) -> Vec<StoryEvent> {
    if events.len() <= MOST_LINES {
        return events;
    }
    let strike = events.iter().position(is_strike).unwrap_or_default();
    let first = strike.saturating_sub(LINES_BEFORE).min(events.len() - MOST_LINES);
    let after = events.len() - first - MOST_LINES;
    events.truncate(first + MOST_LINES);
    events.drain(..first);
    let left_out = |text| StoryEvent::new(0, StoryEventKind::LeftOut, text);
    if first > 0 {
        events.insert(0, left_out(format!("… {first} lines before")));
    }
    if after > 0 {
        events.push(left_out(format!("… {after} lines more")));
    }
    events
}

/// A reconcile that runs, and whether it is told of yet.
struct OpenReconcile {
    of: String,
    reads: Vec<ReadStory>,
    is_told: bool,
}

struct Teller<'a, W: Iterator<Item = &'a JournaledWrite>, C: Iterator<Item = &'a ClusterChange>> {
    run: &'a Observation,
    plan: Option<&'a Plan>,
    names: &'a [String],
    step: Option<usize>,
    reconciles: BTreeMap<ReconcileId, OpenReconcile>,
    writes: std::iter::Peekable<W>,
    changes: std::iter::Peekable<C>,
    events: Vec<StoryEvent>,
}

impl<'a, W: Iterator<Item = &'a JournaledWrite>, C: Iterator<Item = &'a ClusterChange>> Teller<'a, W, C> {
    /// Tells what happened before a record.
    fn until(&mut self, sequence: u64, revision: u64) {
        loop {
            let write = self
                .writes
                .peek()
                .filter(|write| write.trace_position <= sequence)
                .copied();
            let limit = write.map_or(revision, |write| write.revision.min(revision));
            if let Some(change) = self.changes.next_if(|change| change.revision <= limit) {
                self.begin_step(self.run.step_at(change.revision));
                self.tell(1, StoryEventKind::Change, told_change(change), Some(change.story()));
            } else if let Some(write) = write {
                self.writes.next();
                self.begin_step(Some(write.step));
                let of = self.only_reconcile();
                self.tell_reconcile(of);
                let change = self.run.changes.iter().find(|change| came_of(change, write));
                let text = told_write(write, self.plan);
                self.tell(2, StoryEventKind::Write, text, change.map(ClusterChange::story));
            } else {
                return;
            }
        }
    }

    fn tell(&mut self, depth: usize, is: StoryEventKind, text: String, object: Option<ObjectStory>) {
        self.events.push(StoryEvent::new(depth, is, text).about(object));
    }

    fn begin_step(&mut self, step: Option<usize>) {
        if step.is_none() || self.step >= step {
            return;
        }
        self.step = step;
        let name = step.and_then(|step| self.names.get(step)).map_or("?", String::as_str);
        self.tell(0, StoryEventKind::Step, format!("step {name}"), None);
        if let Some(plan) = self.plan
            && plan.step == name
            && is_before_a_step(&plan.disturbance)
        {
            self.tell(1, StoryEventKind::Strike, format!("{MARK} {plan}"), None);
        }
    }

    /// The reconcile that runs, if it is the only one.
    fn only_reconcile(&self) -> Option<ReconcileId> {
        let mut open = self.reconciles.keys();
        open.next().copied().filter(|_| open.next().is_none())
    }

    /// Tells of a reconcile and of what it has read so far, if it is not told yet.
    fn tell_reconcile(&mut self, id: Option<ReconcileId>) {
        let Some((id, open)) = id.and_then(|id| Some((id, self.reconciles.get_mut(&id)?))) else {
            return;
        };
        if !open.is_told {
            let text = format!("reconcile {id} of {}", open.of);
            self.events.push(StoryEvent::new(1, StoryEventKind::Reconcile, text));
        }
        open.is_told = true;
        if !open.reads.is_empty() {
            let reads = std::mem::take(&mut open.reads);
            let all: Vec<&str> = reads.iter().map(|read| read.text.as_str()).collect();
            let event = StoryEvent::new(2, StoryEventKind::Read, format!("had read {}", all.join(", ")));
            self.events.push(StoryEvent { reads, ..event });
        }
    }

    fn record(&mut self, record: &TraceRecord) {
        let id = record.reconcile;
        match &record.event {
            TraceEvent::Began { key, controller, .. } => {
                let causes = causes(self.run, record.sequence, controller, key);
                let of = self.short(key.as_str());
                let of = if causes.is_empty() {
                    of
                } else {
                    format!("{of}, because {}", causes.join(", "))
                };
                if let Some(id) = id {
                    // A process that ended left its reconciles open.
                    let open = OpenReconcile {
                        of,
                        reads: Vec::new(),
                        is_told: false,
                    };
                    self.reconciles.insert(id, open);
                }
            }
            TraceEvent::Read(read) => self.read(id, read, record.server),
            TraceEvent::Called(call) if !call.is_write() => self.had_read(id, asked(call), None),
            TraceEvent::Ended { error, .. } => {
                if let Some(error) = error {
                    self.tell_reconcile(id);
                    let first = error.lines().next().unwrap_or_default();
                    self.tell(2, StoryEventKind::Failure, format!("fails: {first}"), None);
                }
                if let Some(id) = id {
                    self.reconciles.remove(&id);
                }
            }
            _ => {}
        }
    }

    fn had_read(&mut self, id: Option<ReconcileId>, text: String, missed: Option<ObjectStory>) {
        if let Some(open) = id.and_then(|id| self.reconciles.get_mut(&id)) {
            open.reads.push(ReadStory { text, missed });
        }
    }

    fn read(&mut self, id: Option<ReconcileId>, read: &CacheRead, server: Option<u64>) {
        let kind = read.kind.kind();
        let what = match &read.target {
            ReadTarget::Key(key) => format!("{kind} {}", self.short(key.as_str())),
            ReadTarget::List { .. } => format!("all {kind}"),
        };
        let found = match read.found {
            Found::Nothing => "nothing".to_owned(),
            Found::Object(Some(revision)) => format!("revision {revision}"),
            Found::Object(None) => "an object".to_owned(),
            Found::Objects(count) => format!("{count}"),
        };
        match self.stale(read, server) {
            Some((stale, missed)) => {
                self.had_read(id, format!("{what}: {found} (stale: {stale})"), Some(missed));
                self.tell_reconcile(id);
            }
            None => self.had_read(id, format!("{what}: {found}"), None),
        }
    }

    /// What the server had instead of what was read: in words, and from the one to the other.
    fn stale(&self, read: &CacheRead, server: Option<u64>) -> Option<(String, ObjectStory)> {
        let ReadTarget::Key(key) = &read.target else {
            return None;
        };
        let server = server?;
        let mut all = self.run.changes.iter().rev();
        let newest = all.find(|change| change.revision <= server && change.is_of(&read.kind, key))?;
        let revision = newest.revision;
        let words = match (read.found, newest.is_gone()) {
            (Found::Object(Some(found)), false) if found < revision => format!("the server has revision {revision}"),
            (Found::Object(_), true) => format!("it is gone since revision {revision}"),
            (Found::Nothing, false) => format!("the server has it at revision {revision}"),
            _ => return None,
        };
        let was_read = match read.found {
            Found::Object(Some(found)) => all
                .find(|change| change.revision == found)
                .and_then(|one| one.story().after),
            _ => None,
        };
        // What was there before the run began was changed by the first of its changes.
        let before = was_read.or_else(|| match read.found {
            Found::Object(_) => newest.story().before,
            _ => None,
        });
        Some((
            words,
            ObjectStory {
                before,
                ..newest.story()
            },
        ))
    }

    /// A key without the test's namespace.
    fn short(&self, key: &str) -> String {
        let rest = key.strip_prefix(self.run.namespace.as_str());
        rest.and_then(|rest| rest.strip_prefix('/')).unwrap_or(key).to_owned()
    }
}

/// What asked for a reconcile since the one before it began, each reason once.
fn causes(run: &Observation, began: u64, controller: &str, key: &ObjectKey) -> Vec<String> {
    let mut causes = Vec::new();
    let before = run.trace.iter().rev().skip_while(|record| record.sequence >= began);
    for record in before {
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
            } if **by == *controller && of == key => {
                causes.push(cause_text(cause));
            }
            _ => {}
        }
    }
    causes.reverse();
    causes.dedup();
    causes
}

fn cause_text(cause: &Cause) -> String {
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

/// A read of the server itself.
fn asked(call: &ApiCall) -> String {
    match call.code {
        Some(code) => format!("{} {} from the server: {code}", call.verb, call.target),
        None => format!("{} {} from the server: no answer", call.verb, call.target),
    }
}

fn told_change(change: &ClusterChange) -> String {
    let what = change.what.as_str();
    let ClusterChange { name, revision, .. } = change;
    match change.by() {
        Some(by) if by == crate::env::FIELD_OWNER => format!("the step: {name} {what} (revision {revision})"),
        Some(by) => format!("{by}: {name} {what} (revision {revision})"),
        None => format!("others: {name} {what} (revision {revision})"),
    }
}

/// A write with its answer, and what happened to it.
fn told_write(write: &JournaledWrite, plan: Option<&Plan>) -> String {
    let address = &write.address;
    let answer = match write.code {
        Some(code) if write.effective || !(200..300).contains(&code) => format!("→ {code}"),
        Some(code) => format!("→ {code}, nothing changed"),
        None => "→ no answer".to_owned(),
    };
    let Some(strike) = write.strike else {
        return format!("{address} {answer}");
    };
    let reached = format!("{address} {answer} {MARK}");
    match strike {
        Strike::CrashBefore => format!("{address} {MARK} the process ends before it is sent, and starts again"),
        Strike::CrashAfter => format!("{reached} the process ends before it has the answer, and starts again"),
        Strike::TakeOver => format!("{reached} the process ends, another replica takes over"),
        Strike::TakeOverBlind => {
            format!("{reached} the process ends, another replica takes over, which has not seen this yet")
        }
        Strike::Webhooks(WebhookTrouble::Down) => format!("{reached} the operator's webhooks are down"),
        Strike::Webhooks(WebhookTrouble::Slow) => format!("{reached} the operator's webhooks are slow"),
        Strike::LoseAnswer => format!("{reached} the answer gets lost"),
        Strike::Unreachable => format!("{address} {MARK} the connection breaks, the server does not see it"),
        Strike::TimeOut => format!("{address} {MARK} no answer comes, the server does not see it"),
        Strike::Answer(code) => format!("{address} {MARK} the answer is {code}, the server does not see it"),
        Strike::Delay(by) => format!("{reached} {by:?} late"),
        Strike::TimeOutAfter => format!("{reached} no answer comes, though the server has done it"),
        Strike::LateAnswer(by) => format!("{reached} the answer comes {by:?} late"),
        Strike::DropWatches => format!("{reached} all watches end"),
        Strike::ExpireWatches => format!("{reached} all watches end with 410 Gone"),
        Strike::Pause => format!("{reached} then somebody deletes what the steps made"),
        Strike::Lag => match plan.and_then(Plan::lag) {
            Some(lag) => format!("{reached} from here on {lag}"),
            None => format!("{reached} from here on events are late"),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_story_is_told_around_its_strike() {
        let line = |at| StoryEvent::new(1, StoryEventKind::Change, format!("line {at}"));
        let mut events: Vec<StoryEvent> = (0..100).map(line).collect();
        events[60].text.push_str(MARK);
        let short: Vec<String> = shorten(events).iter().map(ToString::to_string).collect();
        assert_eq!(short.len(), MOST_LINES + 2);
        assert_eq!(short[0], "… 48 lines before");
        assert_eq!(short[1], "  line 48");
        assert_eq!(short[MOST_LINES + 1], "… 12 lines more");
    }
}
