//! A plan: what disturbs a run, and where. Plans are written and read as text.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use jiff::Timestamp;
use kubewright_runtime::clock::Clock;

use super::class::Class;
use super::spec_edit::SpecEdit;
use crate::traffic::{Lag, Lateness, ReadAddress, ReadStrike, Right, Strike, WebhookTrouble, WriteAddress};

/// How long a write or its answer is delayed.
pub(super) const DELAY: Duration = Duration::from_secs(5);

/// How a plan begins in which no manager runs.
const DOWN: &str = "operator down";
/// How a plan begins in which webhooks do not answer users.
const WEBHOOKS_DOWN: &str = "webhooks down";

/// How far a clock is off.
const HOUR: jiff::SignedDuration = jiff::SignedDuration::from_hours(1);
/// When a clock jumps: while the cluster rests after the first step.
const JUMP: Duration = Duration::from_secs(30);

/// What a run does that the reference does not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Disturbance {
    /// The manager is another one since the beginning of the step.
    Restart,
    /// No manager runs while users act; another one starts on what they left.
    Down,
    /// The operator's webhooks are down while users act.
    WebhooksDown,
    /// Something happens to a write of the step.
    Write(Strike, WriteAddress),
    /// Something happens to a read from the server.
    Read(ReadStrike, ReadAddress),
    /// Events are late from a write of the step on, or from its beginning.
    Late(Lag, Option<WriteAddress>),
    /// An object that a step made is deleted and made again after the step, and the operator sees it as one change.
    Recreate(ObjectName),
    /// What the steps made is deleted right after a write of the step.
    DeleteOwners(Propagation, WriteAddress),
    /// The role has no right to this verb and resource, until the step has settled.
    Forbid(Right),
    /// The clock of the operator's machine shows another time than the server's.
    Clock(Skew),
    /// An object that the operator made is deleted after the step.
    Delete(ObjectName),
    /// An object that the operator made is edited after the step.
    Edit(ObjectName),
    /// An object of another owner has the name of one that the operator is going to make.
    Foreign(ObjectName),
    /// An object that a step made is deleted in the foreground after the step, and somebody else's finalizer keeps it for a while.
    Hold(ObjectName),
    /// A node fails after the step, and comes back in time.
    FailNode(ObjectName),
    /// A node fails after the step, and comes back when its Pods were evicted.
    LoseNode(ObjectName),
    /// Users edit what the step made, after it.
    Spec(SpecEdit),
    /// The step makes an object as if it had been edited already: what an edit is compared with.
    CreatedSo(SpecEdit),
}

/// What happens to the dependents of what is deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Propagation {
    Background,
    Foreground,
    Orphan,
}

impl Propagation {
    pub(super) const ALL: [Propagation; 3] = [Propagation::Background, Propagation::Foreground, Propagation::Orphan];

    /// The policy's name in the API.
    pub(super) fn policy(self) -> &'static str {
        match self {
            Propagation::Background => "Background",
            Propagation::Foreground => "Foreground",
            Propagation::Orphan => "Orphan",
        }
    }

    /// How a plan begins that deletes so.
    fn words(self) -> &'static str {
        match self {
            Propagation::Background => "delete owners after ",
            Propagation::Foreground => "delete owners in the foreground after ",
            Propagation::Orphan => "delete owners without dependents after ",
        }
    }
}

/// How a clock is off by an hour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Skew {
    Ahead,
    Behind,
    /// It is right, and after half a minute it is ahead.
    JumpsAhead,
    /// It is right, and after half a minute it is behind.
    JumpsBack,
}

impl Skew {
    pub(super) const ALL: [Skew; 4] = [Skew::Ahead, Skew::Behind, Skew::JumpsAhead, Skew::JumpsBack];

    fn words(self) -> &'static str {
        match self {
            Skew::Ahead => "clock an hour ahead",
            Skew::Behind => "clock an hour behind",
            Skew::JumpsAhead => "clock jumps ahead",
            Skew::JumpsBack => "clock jumps back",
        }
    }

    /// Such a clock, where it is really `now`.
    pub(super) fn clock(self, now: Timestamp) -> Clock {
        let right = Clock::starting_at(now);
        match self {
            Skew::Ahead => right.jumping(Duration::ZERO, HOUR),
            Skew::Behind => right.jumping(Duration::ZERO, -HOUR),
            Skew::JumpsAhead => right.jumping(JUMP, HOUR),
            Skew::JumpsBack => right.jumping(JUMP, -HOUR),
        }
    }
}

/// An object as plans name it: resource with group, and name (with its namespace, if that is not the test's).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ObjectName {
    pub(super) resource: String,
    pub(super) name: String,
}

/// `configmaps/x`
impl fmt::Display for ObjectName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.resource, self.name)
    }
}

/// A disturbance in a step, and the steps that are taken if those are not all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Plan {
    pub(super) disturbance: Disturbance,
    /// Something that happens to another write of the step as well.
    pub(super) second: Option<(Strike, WriteAddress)>,
    pub(super) step: String,
    pub(super) steps: Option<Vec<String>>,
}

impl Plan {
    pub(super) fn new(disturbance: Disturbance, step: &str) -> Self {
        Plan {
            disturbance,
            second: None,
            step: step.to_owned(),
            steps: None,
        }
    }

    pub(super) fn class(&self) -> Class {
        if self.second.is_some() {
            return Class::Pairs;
        }
        match &self.disturbance {
            Disturbance::Restart | Disturbance::Down => Class::Restart,
            Disturbance::Write(
                Strike::CrashBefore | Strike::CrashAfter | Strike::TakeOver | Strike::TakeOverBlind,
                _,
            ) => Class::Crash,
            Disturbance::Write(Strike::Webhooks(_), _) | Disturbance::WebhooksDown => Class::Webhooks,
            Disturbance::Write(Strike::DropWatches | Strike::ExpireWatches, _) => Class::Watches,
            Disturbance::Write(..) | Disturbance::Read(..) => Class::Requests,
            Disturbance::Late(..) | Disturbance::Recreate(_) => Class::Staleness,
            Disturbance::Forbid(_) => Class::Rights,
            Disturbance::Clock(_) => Class::Clock,
            Disturbance::DeleteOwners(..)
            | Disturbance::Delete(_)
            | Disturbance::Edit(_)
            | Disturbance::Foreign(_)
            | Disturbance::Hold(_)
            | Disturbance::FailNode(_)
            | Disturbance::LoseNode(_) => Class::World,
            Disturbance::Spec(_) | Disturbance::CreatedSo(_) => Class::Edits,
        }
    }

    /// Whether the run may end elsewhere than the reference: then its own rules are checked alone, and no further step is taken.
    pub(super) fn changes_the_end(&self) -> bool {
        matches!(
            self.disturbance,
            Disturbance::DeleteOwners(..) | Disturbance::Foreign(_) | Disturbance::Hold(_) | Disturbance::CreatedSo(_)
        )
    }

    /// Whether no further step is taken after its own.
    pub(super) fn is_the_last(&self) -> bool {
        self.changes_the_end() || matches!(self.disturbance, Disturbance::Spec(_))
    }

    /// Whether there are two replicas of the operator.
    pub(super) fn needs_replicas(&self) -> bool {
        matches!(
            self.disturbance,
            Disturbance::Write(Strike::TakeOver | Strike::TakeOverBlind, _)
        )
    }

    /// Whether nothing happens unless a webhook is called.
    pub(super) fn needs_webhooks(&self) -> bool {
        matches!(self.disturbance, Disturbance::Write(Strike::Webhooks(_), _))
    }

    /// Whether what the operator made may stay without an owner.
    pub(super) fn leaves_orphans(&self) -> bool {
        matches!(self.disturbance, Disturbance::DeleteOwners(Propagation::Orphan, _))
    }

    /// The writes at which something happens.
    pub(super) fn strikes(&self) -> Vec<(WriteAddress, Strike)> {
        let first = match &self.disturbance {
            Disturbance::Write(strike, address) => Some((address.clone(), *strike)),
            Disturbance::DeleteOwners(_, address) => Some((address.clone(), Strike::Pause)),
            Disturbance::Late(_, Some(address)) => Some((address.clone(), Strike::Lag)),
            _ => None,
        };
        let second = self.second.iter().map(|(strike, address)| (address.clone(), *strike));
        first.into_iter().chain(second).collect()
    }

    /// Whether reads may time out that wait for what was written before, or for a list that is refused or cannot be converted.
    pub(super) fn makes_reads_late(&self) -> bool {
        match &self.disturbance {
            Disturbance::Write(Strike::TakeOverBlind | Strike::Webhooks(_), _)
            | Disturbance::WebhooksDown
            | Disturbance::Read(..) => true,
            Disturbance::Forbid(right) => right.is_to_read(),
            _ => self.class() == Class::Staleness,
        }
    }

    /// What is late.
    pub(super) fn lag(&self) -> Option<&Lag> {
        match &self.disturbance {
            Disturbance::Late(lag, _) => Some(lag),
            _ => None,
        }
    }
}

/// Whether a plan with this step, and with these steps, is read as it is written.
pub(super) fn can_name(step: &str, steps: &[String]) -> bool {
    let is_trimmed = !step.is_empty() && step.trim() == step;
    let is_read = |disturbance: Disturbance| {
        let plan = Plan {
            steps: Some(steps.to_vec()),
            ..Plan::new(disturbance, step)
        };
        plan.to_string().parse() == Ok(plan)
    };
    is_trimmed && is_read(Disturbance::Restart) && is_read(Disturbance::Down)
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let step = &self.step;
        match &self.disturbance {
            Disturbance::Restart => write!(f, "restart before step {step}")?,
            Disturbance::Down => write!(f, "{DOWN} in step {step}")?,
            Disturbance::WebhooksDown => write!(f, "{WEBHOOKS_DOWN} in step {step}")?,
            Disturbance::Write(strike, at) => {
                write_strike(f, *strike, at)?;
                if let Some((strike, at)) = &self.second {
                    f.write_str(" and ")?;
                    write_strike(f, *strike, at)?;
                }
                write!(f, " in step {step}")?;
            }
            Disturbance::Read(strike, at) => write!(f, "{}{at} in step {step}", words_of_read(*strike))?,
            Disturbance::Late(lag, None) => write!(f, "{lag} in step {step}")?,
            Disturbance::Late(lag, Some(at)) => write!(f, "{lag} from {at} in step {step}")?,
            Disturbance::Recreate(object) => write!(f, "recreate {object} after step {step}")?,
            Disturbance::DeleteOwners(propagation, at) => write!(f, "{}{at} in step {step}", propagation.words())?,
            Disturbance::Forbid(right) => write!(f, "forbid {right} in step {step}")?,
            Disturbance::Clock(skew) => write!(f, "{} in step {step}", skew.words())?,
            Disturbance::Delete(object) => write!(f, "delete {object} after step {step}")?,
            Disturbance::Edit(object) => write!(f, "edit {object} after step {step}")?,
            Disturbance::Foreign(object) => write!(f, "foreign {object} before step {step}")?,
            Disturbance::Hold(object) => write!(f, "hold {object} after step {step}")?,
            Disturbance::FailNode(node) => write!(f, "fail {node} after step {step}")?,
            Disturbance::LoseNode(node) => write!(f, "lose {node} after step {step}")?,
            Disturbance::Spec(edit) => write!(f, "change {edit} after step {step}")?,
            Disturbance::CreatedSo(edit) => write!(f, "create {edit} in step {step}")?,
        }
        match &self.steps {
            Some(steps) => write!(f, " of {}", steps.join(", ")),
            None => Ok(()),
        }
    }
}

/// How a plan begins in which this happens to a read.
fn words_of_read(strike: ReadStrike) -> &'static str {
    match strike {
        ReadStrike::Fail => "fail read ",
        ReadStrike::TimeOut => "no answer to read ",
        ReadStrike::Delay(_) => "delay read ",
    }
}

fn write_strike(f: &mut fmt::Formatter<'_>, strike: Strike, at: &WriteAddress) -> fmt::Result {
    match strike {
        Strike::CrashBefore => write!(f, "crash before {at}"),
        Strike::CrashAfter => write!(f, "crash after {at}"),
        Strike::Answer(code) => write!(f, "answer {code} to {at}"),
        Strike::LoseAnswer => write!(f, "lose the answer to {at}"),
        Strike::Unreachable => write!(f, "no connection for {at}"),
        Strike::TimeOut => write!(f, "no answer to {at}"),
        Strike::TimeOutAfter => write!(f, "no answer after {at}"),
        Strike::LateAnswer(_) => write!(f, "late answer to {at}"),
        Strike::Delay(_) => write!(f, "delay {at}"),
        Strike::DropWatches => write!(f, "drop watches at {at}"),
        Strike::ExpireWatches => write!(f, "expire watches at {at}"),
        Strike::Pause => write!(f, "pause after {at}"),
        Strike::Lag => write!(f, "lag from {at}"),
        Strike::TakeOver => write!(f, "take over after {at}"),
        Strike::TakeOverBlind => write!(f, "take over blindly after {at}"),
        Strike::Webhooks(WebhookTrouble::Down) => write!(f, "webhooks down at {at}"),
        Strike::Webhooks(WebhookTrouble::Slow) => write!(f, "webhooks slow at {at}"),
    }
}

/// Why a text is no plan.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is no plan: {problem}")]
pub(super) struct PlanError {
    text: String,
    problem: &'static str,
}

impl FromStr for Plan {
    type Err = PlanError;

    fn from_str(text: &str) -> Result<Self, PlanError> {
        let error = |problem| PlanError {
            text: text.to_owned(),
            problem,
        };
        let places = [" in step ", " after step ", " before step ", "restart before step "];
        let found = places
            .iter()
            .filter_map(|place| Some((text.rfind(place)?, *place)))
            .max_by_key(|(at, place)| at + place.len());
        let (at, place) = found.ok_or_else(|| error("it names no step, as in `… in step create`"))?;
        let (what, rest) = (text[..at].trim(), &text[at + place.len()..]);
        let (step, steps) = match rest.split_once(" of ") {
            Some((step, steps)) => (step, Some(steps.split(", ").map(str::to_owned).collect())),
            None => (rest, None),
        };
        let unknown = || error("what happens is not known");
        // What is one disturbance as a whole may hold every word, as the values of an edit do.
        let (disturbance, second) = match (disturbance(what, place.trim()), what.split_once(" and ")) {
            (Some(whole), _) => (whole, None),
            (None, Some((first, second))) => match disturbance(second, "in step").ok_or_else(unknown)? {
                Disturbance::Write(strike, address) => (
                    disturbance(first, "in step").ok_or_else(unknown)?,
                    Some((strike, address)),
                ),
                _ => return Err(error("only writes are disturbed twice")),
            },
            (None, None) => return Err(unknown()),
        };
        Ok(Plan {
            disturbance,
            second,
            step: step.to_owned(),
            steps,
        })
    }
}

fn disturbance(what: &str, place: &str) -> Option<Disturbance> {
    let object = |text: &str| {
        let (resource, name) = text.rsplit_once('/')?;
        Some(ObjectName {
            resource: resource.to_owned(),
            name: name.to_owned(),
        })
    };
    match place {
        "restart before step" => return Some(Disturbance::Restart),
        "before step" if what == "restart" => return Some(Disturbance::Restart),
        "before step" => return Some(Disturbance::Foreign(object(what.strip_prefix("foreign ")?)?)),
        "after step" => {
            let (verb, rest) = what.split_once(' ')?;
            return match verb {
                "change" => SpecEdit::parse(rest).map(Disturbance::Spec),
                "delete" => Some(Disturbance::Delete(object(rest)?)),
                "edit" => Some(Disturbance::Edit(object(rest)?)),
                "recreate" => Some(Disturbance::Recreate(object(rest)?)),
                "hold" => Some(Disturbance::Hold(object(rest)?)),
                "fail" => Some(Disturbance::FailNode(object(rest)?)),
                "lose" => Some(Disturbance::LoseNode(object(rest)?)),
                _ => None,
            };
        }
        _ => {}
    }
    match what {
        DOWN => return Some(Disturbance::Down),
        WEBHOOKS_DOWN => return Some(Disturbance::WebhooksDown),
        _ => {}
    }
    if let Some(rest) = what.strip_prefix("events of ") {
        return late(rest);
    }
    for strike in [ReadStrike::Fail, ReadStrike::TimeOut, ReadStrike::Delay(DELAY)] {
        if let Some(rest) = what.strip_prefix(words_of_read(strike)) {
            return Some(Disturbance::Read(strike, read_address(rest)?));
        }
    }
    for propagation in Propagation::ALL {
        if let Some(rest) = what.strip_prefix(propagation.words()) {
            return Some(Disturbance::DeleteOwners(propagation, address(rest)?));
        }
    }
    if let Some(skew) = Skew::ALL.into_iter().find(|skew| skew.words() == what) {
        return Some(Disturbance::Clock(skew));
    }
    if let Some(rest) = what.strip_prefix("forbid ") {
        let (verb, resource) = rest.split_once(' ')?;
        return Some(Disturbance::Forbid(Right {
            verb: verb.to_owned(),
            resource: resource.to_owned(),
        }));
    }
    if let Some(rest) = what.strip_prefix("answer ") {
        let (code, rest) = rest.split_once(" to ")?;
        return Some(Disturbance::Write(Strike::Answer(code.parse().ok()?), address(rest)?));
    }
    let strikes = [
        ("crash before ", Strike::CrashBefore),
        ("crash after ", Strike::CrashAfter),
        ("lose the answer to ", Strike::LoseAnswer),
        ("take over after ", Strike::TakeOver),
        ("take over blindly after ", Strike::TakeOverBlind),
        ("webhooks down at ", Strike::Webhooks(WebhookTrouble::Down)),
        ("webhooks slow at ", Strike::Webhooks(WebhookTrouble::Slow)),
        ("no connection for ", Strike::Unreachable),
        ("no answer to ", Strike::TimeOut),
        ("no answer after ", Strike::TimeOutAfter),
        ("late answer to ", Strike::LateAnswer(DELAY)),
        ("delay ", Strike::Delay(DELAY)),
        ("drop watches at ", Strike::DropWatches),
        ("expire watches at ", Strike::ExpireWatches),
    ];
    let (rest, strike) = strikes
        .iter()
        .find_map(|(words, strike)| Some((what.strip_prefix(words)?, *strike)))?;
    Some(Disturbance::Write(strike, address(rest)?))
}

/// `configmaps late by one from create configmaps/x #1`
fn late(text: &str) -> Option<Disturbance> {
    let (what, at) = match text.split_once(" from ") {
        Some((what, at)) => (what, Some(address(at)?)),
        None => (text, None),
    };
    let (resource, words) = what.split_once(' ')?;
    let all = [Lateness::ByOne, Lateness::Long, Lateness::Missed];
    let lateness = all.into_iter().find(|lateness| lateness.to_string() == words)?;
    let lag = Lag {
        resource: resource.to_owned(),
        lateness,
    };
    Some(Disturbance::Late(lag, at))
}

/// `get configmaps #1`
fn read_address(text: &str) -> Option<ReadAddress> {
    let (right, nth) = text.rsplit_once(" #")?;
    let (verb, resource) = right.split_once(' ')?;
    let right = Right {
        verb: verb.to_owned(),
        resource: resource.to_owned(),
    };
    let nth = nth.parse().ok()?;
    Some(ReadAddress { right, nth })
}

/// `create configmaps/x #1`
fn address(text: &str) -> Option<WriteAddress> {
    let (verb, rest) = text.split_once(' ')?;
    let (object, nth) = rest.rsplit_once(" #")?;
    let (resource, name) = object.rsplit_once('/')?;
    // Neither has spaces: what has some are two addresses.
    if object.contains(' ') {
        return None;
    }
    Some(WriteAddress {
        verb: verb.to_owned(),
        resource: resource.to_owned(),
        name: name.to_owned(),
        nth: nth.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_is_read_as_it_is_written() {
        for text in [
            "restart before step scale",
            "operator down in step scale of create, scale",
            "crash before create configmaps/x #1 in step create",
            "crash after patch deployments.apps/status/web #12 in step create of create, delete",
            "answer 409 to update configmaps/x #1 in step two words",
            "lose the answer to create services/web-* #1 in step create",
            "no connection for delete pods/other:a #1 in step create",
            "no answer to delete pods/other:a #1 in step create",
            "delay create configmaps/x #1 in step create",
            "no answer after create configmaps/x #1 in step create",
            "late answer to create configmaps/x #1 in step create",
            "fail read get configmaps #1 in step create",
            "no answer to read list apps.example.com #2 in step create of create",
            "delay read get configmaps #1 in step create",
            "drop watches at create configmaps/x #1 in step create",
            "expire watches at create configmaps/x #1 in step create",
            "delete owners after create configmaps/x #1 in step create",
            "delete owners in the foreground after create configmaps/x #1 in step create",
            "delete owners without dependents after create configmaps/x #1 in step create",
            "forbid update apps.example.com/status in step create",
            "forbid list configmaps in step create",
            "clock an hour ahead in step create",
            "clock jumps ahead in step create",
            "clock jumps back in step create",
            "take over after create configmaps/x #1 in step create",
            "take over blindly after create configmaps/x #1 in step create",
            "webhooks down in step create of create, delete",
            "webhooks down at create configmaps/x #1 in step create",
            "webhooks slow at create configmaps/x #1 in step create",
            "clock an hour behind in step create of create, delete",
            "events of deployments.apps late by one in step create",
            "events of configmaps late from create configmaps/x #1 in step create of create",
            "events of configmaps missed from patch apps.example.com/status/x #2 in step create",
            "recreate apps.example.com/x after step create",
            "crash after create configmaps/x #1 and lose the answer to create configmaps/x #2 in step create",
            "delete configmaps/x after step create",
            "edit deployments.apps/web after step create of create",
            "foreign configmaps/x before step create",
            "hold apps.example.com/x after step create of create",
            "fail nodes/node-1 after step create",
            "lose nodes/node-1 after step create",
            r#"change apps.example.com/a: /spec/text = "read and write" after step create"#,
            r#"change apps.example.com/a: /spec/text = "crash after create x/y #1 and z" after step create"#,
            r#"change apps.example.com/a: /spec/text = " of step, in step x"; undo after step create of create"#,
        ] {
            let plan: Plan = text.parse().unwrap();
            assert_eq!(plan.to_string(), text);
        }
    }

    #[test]
    fn a_name_that_a_plan_cannot_hold_is_known() {
        let names = |names: &[&str]| -> Vec<String> { names.iter().map(|name| (*name).to_owned()).collect() };
        for name in ["create", "two words", "read and write", "änderung", "of", "step 1"] {
            assert!(can_name(name, &names(&["create", name])), "{name}");
        }
        for name in [
            "",
            "end of day",
            "buy, sell",
            "be in step with",
            "go on after step one",
            " x",
            "x ",
        ] {
            assert!(!can_name(name, &names(&["create", name])), "{name}");
        }
    }

    #[test]
    fn what_is_no_plan_is_refused_with_a_reason() {
        let error = "crash".parse::<Plan>().unwrap_err();
        assert!(error.to_string().contains("names no step"), "{error}");
        let error = "sing create configmaps/x #1 in step create"
            .parse::<Plan>()
            .unwrap_err();
        assert!(error.to_string().contains("not known"), "{error}");
    }
}
