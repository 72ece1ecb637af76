//! Many candidates on one lease in simulated time: clocks of different rates, lost and late messages, frozen processes.
//! Whatever happens, two fences are never open at the same instant, as long as clock rates are bounded.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use jiff::Timestamp;
use proptest::prelude::*;

use super::machine::{Command, Input, Machine, Moment, StepInstant};
use super::options::ElectionOptions;
use super::record::Record;

/// True time, which nobody in the simulation can see.
type Instant = Duration;

#[derive(Clone, Debug)]
struct Clock {
    /// How many of its seconds pass in a true one.
    rate: f64,
    /// What it shows when true time begins.
    offset: Duration,
}

impl Clock {
    fn shows(&self, at: Instant) -> Moment {
        self.offset + at.mul_f64(self.rate)
    }

    fn reaches(&self, moment: Moment) -> Instant {
        moment.saturating_sub(self.offset).div_f64(self.rate)
    }
}

/// What the network does to one request.
#[derive(Clone, Copy, Debug)]
enum Fate {
    /// Both ways take a while.
    Delivered { there: Duration, back: Duration },
    /// It never arrives.
    Lost,
    /// It arrives, the answer does not.
    Unanswered { there: Duration },
}

#[derive(Clone, Debug)]
struct Scenario {
    clocks: Vec<Clock>,
    fates: Vec<Fate>,
    /// Who does nothing from when on, for how long.
    freezes: Vec<(usize, Instant, Duration)>,
    length: Duration,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum What {
    /// A process gets an input, unless it has moved on. An answer brings the resourceVersion.
    Input {
        attempt: u64,
        input: Input,
        version: Option<u64>,
    },
    /// A request reaches the server.
    Arrive {
        attempt: u64,
        request: Request,
        back: Option<Duration>,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Request {
    Read,
    Create(Record),
    /// With the resourceVersion it replaces.
    Update(Record, u64),
}

struct Process {
    machine: Machine,
    clock: Clock,
    /// The resourceVersion it knows.
    version: u64,
    /// Answers to older attempts are not heard.
    attempt: u64,
    ended: bool,
}

struct World {
    processes: Vec<Process>,
    lease: Option<(Record, u64)>,
    versions: u64,
    /// By time, then by order of making.
    agenda: BinaryHeap<Reverse<(Instant, u64, usize)>>,
    entries: Vec<What>,
    fates: std::iter::Cycle<std::vec::IntoIter<Fate>>,
    freezes: Vec<(usize, Instant, Duration)>,
    /// When each fence closes, in true time.
    open_until: Vec<Instant>,
    terms: usize,
    violations: Vec<String>,
}

const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);

impl World {
    fn new(scenario: &Scenario) -> Self {
        let options = ElectionOptions::new("ns", "lease");
        let processes: Vec<Process> = scenario
            .clocks
            .iter()
            .enumerate()
            .map(|(number, clock)| Process {
                machine: Machine::new(options.clone(), format!("process-{number}")),
                clock: clock.clone(),
                version: 0,
                attempt: 0,
                ended: false,
            })
            .collect();
        let mut world = World {
            open_until: vec![Instant::ZERO; processes.len()],
            processes,
            lease: None,
            versions: 0,
            agenda: BinaryHeap::new(),
            entries: Vec::new(),
            fates: scenario.fates.clone().into_iter().cycle(),
            freezes: scenario.freezes.clone(),
            terms: 0,
            violations: Vec::new(),
        };
        for process in 0..world.processes.len() {
            world.plan(
                Instant::ZERO,
                process,
                What::Input {
                    attempt: 0,
                    input: Input::Awake,
                    version: None,
                },
            );
        }
        world
    }

    fn plan(&mut self, at: Instant, process: usize, what: What) {
        let entry = self.entries.len() as u64;
        self.entries.push(what);
        self.agenda.push(Reverse((at, entry, process)));
    }

    fn run(mut self, length: Duration) -> World {
        while let Some(Reverse((at, entry, process))) = self.agenda.pop() {
            if at > length {
                break;
            }
            match self.entries[entry as usize].clone() {
                What::Arrive { attempt, request, back } => {
                    let input = self.serve(request);
                    // What the server knows the process learns only by the answer; without one its version is stale.
                    let version = self.lease.as_ref().map(|(_, version)| *version);
                    let version = version.filter(|_| input != Input::Failed);
                    if let Some(back) = back {
                        let what = What::Input {
                            attempt,
                            input,
                            version,
                        };
                        self.plan(at + back, process, what);
                    }
                }
                What::Input {
                    attempt,
                    input,
                    version,
                } => match self.thaws(process, at) {
                    Some(later) => self.plan(
                        later,
                        process,
                        What::Input {
                            attempt,
                            input,
                            version,
                        },
                    ),
                    None if attempt == self.processes[process].attempt => {
                        let known = &mut self.processes[process].version;
                        *known = version.unwrap_or(*known);
                        self.step(at, process, input);
                    }
                    None => {}
                },
            }
        }
        self
    }

    /// When a frozen process goes on.
    fn thaws(&self, process: usize, at: Instant) -> Option<Instant> {
        let frozen = |(who, from, how_long): &&(usize, Instant, Duration)| {
            *who == process && *from <= at && at < *from + *how_long
        };
        self.freezes
            .iter()
            .find(frozen)
            .map(|(_, from, how_long)| *from + *how_long)
    }

    fn serve(&mut self, request: Request) -> Input {
        let current = self.lease.as_ref().map(|(_, version)| *version);
        let record = match request {
            Request::Read => return Input::Read(self.lease.as_ref().map(|(record, _)| record.clone())),
            Request::Create(record) if current.is_none() => record,
            Request::Update(record, expected) if current == Some(expected) => record,
            _ => return Input::Failed,
        };
        self.versions += 1;
        self.lease = Some((record, self.versions));
        Input::Written
    }

    fn step(&mut self, at: Instant, number: usize, input: Input) {
        let process = &mut self.processes[number];
        if process.ended {
            return;
        }
        let led = process.machine.is_leader();
        let moment = process.clock.shows(at);
        let wall = Timestamp::UNIX_EPOCH + moment;
        let command = process.machine.step(
            StepInstant {
                moment,
                wall,
                random: 0.5,
            },
            input,
        );
        process.attempt += 1;
        let attempt = process.attempt;
        let until = process
            .machine
            .writes_until()
            .map_or(Instant::ZERO, |until| process.clock.reaches(until));
        self.terms += usize::from(!led && process.machine.is_leader());
        self.check(at, number, until);
        let process = &mut self.processes[number];
        let request = match command {
            Command::GiveUp => {
                process.ended = true;
                return;
            }
            Command::WaitUntil(moment) => {
                let at = at.max(process.clock.reaches(moment)) + Duration::from_nanos(1);
                return self.plan(
                    at,
                    number,
                    What::Input {
                        attempt,
                        input: Input::Awake,
                        version: None,
                    },
                );
            }
            Command::Read => Request::Read,
            Command::Create(record) => Request::Create(record),
            Command::Update(record) => Request::Update(record, process.version),
        };
        let timeout = at + REQUEST_TIMEOUT.div_f64(process.clock.rate);
        let (there, back) = match self.fates.next() {
            Some(Fate::Delivered { there, back }) => (Some(there), Some(back)),
            Some(Fate::Unanswered { there }) => (Some(there), None),
            Some(Fate::Lost) | None => (None, None),
        };
        if let Some(there) = there {
            self.plan(at + there, number, What::Arrive { attempt, request, back });
        }
        self.plan(
            timeout,
            number,
            What::Input {
                attempt,
                input: Input::Failed,
                version: None,
            },
        );
    }

    /// A fence opens: no other may be open.
    fn check(&mut self, at: Instant, number: usize, until: Instant) {
        self.open_until[number] = until;
        if until <= at {
            return;
        }
        for (other, open) in self.open_until.iter().enumerate() {
            if other != number && *open > at {
                self.violations.push(format!("{number} and {other} are open at {at:?}"));
            }
        }
    }
}

fn fate() -> impl Strategy<Value = Fate> {
    let millis = |most: u64| (0..most).prop_map(Duration::from_millis);
    prop_oneof![
        12 => (millis(200), millis(200)).prop_map(|(there, back)| Fate::Delivered { there, back }),
        // Late is later than any patience.
        2 => (millis(40_000), millis(40_000)).prop_map(|(there, back)| Fate::Delivered { there, back }),
        1 => Just(Fate::Lost),
        1 => millis(40_000).prop_map(|there| Fate::Unanswered { there }),
    ]
}

fn scenario(slowest: f64, fastest: f64) -> impl Strategy<Value = Scenario> {
    let clock = (slowest..=fastest, 0..1_000_000_u64).prop_map(|(rate, offset)| Clock {
        rate,
        offset: Duration::from_secs(offset),
    });
    let freeze = (0..3_usize, 0..300_u64, 1..60_u64)
        .prop_map(|(who, from, how_long)| (who, Duration::from_secs(from), Duration::from_secs(how_long)));
    let clocks = proptest::collection::vec(clock, 2..=3);
    let fates = proptest::collection::vec(fate(), 1..60);
    let freezes = proptest::collection::vec(freeze, 0..6);
    (clocks, fates, freezes).prop_map(|(clocks, fates, freezes)| Scenario {
        clocks,
        fates,
        freezes,
        length: Duration::from_mins(10),
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn two_fences_are_never_open_at_once(scenario in scenario(1.0, 1.49)) {
        let world = World::new(&scenario).run(scenario.length);
        prop_assert!(world.violations.is_empty(), "{:?}", world.violations);
    }
}

fn calm(clocks: Vec<Clock>, freezes: Vec<(usize, Instant, Duration)>) -> Scenario {
    let there = Duration::from_millis(1);
    Scenario {
        clocks,
        fates: vec![Fate::Delivered { there, back: there }],
        freezes,
        length: Duration::from_mins(10),
    }
}

fn clock(rate: f64, offset: u64) -> Clock {
    Clock {
        rate,
        offset: Duration::from_secs(offset),
    }
}

#[test]
fn a_frozen_leader_is_replaced_and_ends_when_it_wakes() {
    let clocks = vec![clock(1.0, 0), clock(1.0, 1_000_000)];
    let scenario = calm(clocks, vec![(0, Duration::from_secs(30), Duration::from_mins(1))]);
    let world = World::new(&scenario).run(scenario.length);
    assert!(world.violations.is_empty(), "{:?}", world.violations);
    assert!(world.processes[0].ended && !world.processes[1].ended);
    assert_eq!(world.lease.unwrap().0.transitions, 1);
    assert_eq!(world.terms, 2);
}

#[test]
fn the_check_itself_finds_clocks_that_run_too_differently() {
    // The leader's clock stands almost still while it is frozen; the others count three lease durations.
    let scenario = calm(
        vec![clock(0.1, 0), clock(1.0, 0)],
        vec![(0, Duration::from_secs(30), Duration::from_mins(1))],
    );
    let world = World::new(&scenario).run(scenario.length);
    assert!(!world.violations.is_empty());
}
