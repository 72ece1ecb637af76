//! The election as one state machine without clock, randomness or network: what happened goes in, what to do comes out.

use std::time::Duration;

use jiff::Timestamp;

use super::options::{ElectionOptions, JITTER};
use super::record::{Record, micro_time};

/// A moment on this process's own steady clock.
pub(super) type Moment = Duration;

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Input {
    /// The time to wait is over. The first input of all.
    Awake,
    /// The lease was read; there may be none.
    Read(Option<Record>),
    /// The lease was written.
    Written,
    /// A read or a write failed, or took too long: it may or may not have had an effect.
    Failed,
}

/// What to do; what comes of it is the next input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Command {
    /// Read the lease.
    Read,
    /// Create it.
    Create(Record),
    /// Replace what was last read or written, and nothing else.
    Update(Record),
    /// Wait until a moment.
    WaitUntil(Moment),
    /// Nothing more: the lease is lost.
    GiveUp,
}

/// The time and the random number of a step.
#[derive(Clone, Copy, Debug)]
pub(super) struct StepInstant {
    pub(super) moment: Moment,
    pub(super) wall: Timestamp,
    /// Between 0 and 1.
    pub(super) random: f64,
}

#[derive(Clone, Debug)]
enum State {
    /// Waiting for the next try.
    Idle,
    /// The leader's shortcut: writing over the last known record without reading it.
    Renewing {
        record: Record,
        sent: Moment,
    },
    Reading,
    Writing {
        record: Record,
        sent: Moment,
    },
    Lost,
}

/// The record as it was last seen to change, and when.
#[derive(Clone, Debug)]
struct Observed {
    record: Record,
    at: Moment,
}

/// How long the leader may lead.
#[derive(Clone, Copy, Debug)]
struct LeaderTerm {
    /// Writes may start until then.
    writes_until: Moment,
    /// When to give up: set by the first try to renew, removed by its success.
    deadline: Option<Moment>,
}

#[derive(Debug)]
pub(super) struct Machine {
    options: ElectionOptions,
    identity: String,
    state: State,
    observed: Option<Observed>,
    /// The last record that was read, to tell whether it changed.
    read: Option<Record>,
    term: Option<LeaderTerm>,
    /// When the current try began.
    tried: Moment,
    slow_paths: u64,
}

impl Machine {
    pub(super) fn new(options: ElectionOptions, identity: String) -> Self {
        Machine {
            options,
            identity,
            state: State::Idle,
            observed: None,
            read: None,
            term: None,
            tried: Moment::ZERO,
            slow_paths: 0,
        }
    }

    /// The one transition.
    pub(super) fn step(&mut self, now: StepInstant, input: Input) -> Command {
        // A process that slept past its deadline must not trust an answer that waited for it.
        if self.is_overdue(now.moment) {
            return self.give_up();
        }
        match (std::mem::replace(&mut self.state, State::Idle), input) {
            (State::Idle, _) => self.begin(now),
            (State::Renewing { record, sent } | State::Writing { record, sent }, Input::Written) => {
                self.won(now, record, sent)
            }
            // Somebody else wrote, or the server did not answer: look.
            (State::Renewing { .. }, _) => self.look(),
            (State::Reading, Input::Read(None)) => {
                let record = self.claim(now);
                self.write(now, record, Command::Create)
            }
            (State::Reading, Input::Read(Some(record))) => self.judge(now, record),
            (State::Reading | State::Writing { .. }, _) => self.failed(now),
            (State::Lost, _) => self.give_up(),
        }
    }

    /// Until when writes may start; nothing for those who do not lead.
    pub(super) fn writes_until(&self) -> Option<Moment> {
        self.term.map(|term| term.writes_until)
    }

    pub(super) fn is_leader(&self) -> bool {
        self.term.is_some()
    }

    /// The holder of the lease when it was last read; empty if there was none.
    pub(super) fn holder(&self) -> &str {
        self.observed.as_ref().map_or("", |observed| &observed.record.holder)
    }

    /// How many times the lease changed hands, as far as we know.
    pub(super) fn transitions(&self) -> u32 {
        self.observed.as_ref().map_or(0, |observed| observed.record.transitions)
    }

    /// How often a leader had to read its lease before renewing it.
    pub(super) fn slow_paths(&self) -> u64 {
        self.slow_paths
    }

    /// When the current tries to renew must have succeeded; requests need not outlast it.
    pub(super) fn deadline(&self) -> Option<Moment> {
        self.term.and_then(|term| term.deadline)
    }

    /// What to write so that others need not wait, given what the lease says now. Nothing if it is not ours.
    pub(super) fn release(&self, wall: Timestamp, lease: &Record) -> Option<Record> {
        let now = micro_time(wall);
        (lease.holder == self.identity).then(|| Record {
            holder: String::new(),
            lease_seconds: 1,
            acquired: now.clone(),
            renewed: now,
            transitions: lease.transitions,
        })
    }

    fn begin(&mut self, now: StepInstant) -> Command {
        self.tried = now.moment;
        if let Some(term) = &mut self.term {
            term.deadline.get_or_insert(now.moment + self.options.renew_deadline);
        }
        let ours = self
            .observed
            .as_ref()
            .filter(|observed| observed.record.holder == self.identity);
        if let Some(Observed { record, at }) = ours
            && *at + record.lease_duration() > now.moment
        {
            let renewed = Record {
                acquired: record.acquired.clone(),
                transitions: record.transitions,
                ..self.claim(now)
            };
            self.state = State::Renewing {
                record: renewed.clone(),
                sent: now.moment,
            };
            return Command::Update(renewed);
        }
        self.look()
    }

    fn look(&mut self) -> Command {
        self.state = State::Reading;
        Command::Read
    }

    /// Decides on a lease that was read.
    fn judge(&mut self, now: StepInstant, record: Record) -> Command {
        if self.read.as_ref() != Some(&record) {
            self.observed = Some(Observed {
                record: record.clone(),
                at: now.moment,
            });
            self.read = Some(record.clone());
        }
        let is_ours = record.holder == self.identity;
        let seen = self.observed.as_ref().map_or(now.moment, |observed| observed.at);
        let is_valid = seen + record.lease_duration() > now.moment;
        if !record.holder.is_empty() && !is_ours && is_valid {
            // client-go would go on asking until its deadline; there is nothing to wait for.
            return if self.is_leader() {
                self.give_up()
            } else {
                self.failed(now)
            };
        }
        let mut claim = self.claim(now);
        if is_ours {
            claim.acquired = record.acquired;
            claim.transitions = record.transitions;
            self.slow_paths += 1;
        } else {
            claim.transitions = record.transitions.saturating_add(1);
        }
        self.write(now, claim, Command::Update)
    }

    fn write(&mut self, now: StepInstant, record: Record, how: impl FnOnce(Record) -> Command) -> Command {
        self.state = State::Writing {
            record: record.clone(),
            sent: now.moment,
        };
        how(record)
    }

    fn won(&mut self, now: StepInstant, record: Record, sent: Moment) -> Command {
        self.observed = Some(Observed { record, at: now.moment });
        self.term = Some(LeaderTerm {
            writes_until: sent + self.options.renew_deadline,
            deadline: None,
        });
        Command::WaitUntil(now.moment + self.options.retry_period)
    }

    fn failed(&mut self, now: StepInstant) -> Command {
        let Some(term) = &self.term else {
            let pause = self
                .options
                .retry_period
                .mul_f64(1.0 + JITTER * now.random.clamp(0.0, 1.0));
            return Command::WaitUntil(now.moment + pause);
        };
        let next = self.tried + self.options.retry_period;
        let deadline = term.deadline.unwrap_or(next);
        Command::WaitUntil(next.min(deadline).max(now.moment))
    }

    fn is_overdue(&self, now: Moment) -> bool {
        self.deadline().is_some_and(|deadline| deadline <= now)
    }

    fn give_up(&mut self) -> Command {
        self.term = None;
        self.state = State::Lost;
        Command::GiveUp
    }

    /// The record of a new holder.
    fn claim(&self, now: StepInstant) -> Record {
        let time = micro_time(now.wall);
        Record {
            holder: self.identity.clone(),
            lease_seconds: u32::try_from(self.options.lease_duration.as_secs()).unwrap_or(u32::MAX),
            acquired: time.clone(),
            renewed: time,
            transitions: 0,
        }
    }
}
