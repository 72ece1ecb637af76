//! A plan: what disturbs a run, and where. Plans are written and read as text.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use super::class::Class;
use super::spec_edit::SpecEdit;
use crate::traffic::{Strike, WriteAddress};

/// How long a write is delayed.
pub(super) const DELAY: Duration = Duration::from_secs(5);

/// What a run does that the reference does not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Disturbance {
    /// The manager is another one since the beginning of the step.
    Restart,
    /// Something happens to a write of the step.
    Write(Strike, WriteAddress),
    /// What the steps made is deleted right after a write of the step.
    DeleteOwners(WriteAddress),
    /// An object that the operator made is deleted after the step.
    Delete(ObjectName),
    /// An object that the operator made is edited after the step.
    Edit(ObjectName),
    /// An object of another owner has the name of one that the operator is going to make.
    Foreign(ObjectName),
    /// Users edit what the step made, after it.
    Spec(SpecEdit),
    /// The step makes an object as if it had been edited already: what an edit is compared with.
    CreatedSo(SpecEdit),
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
    pub(super) step: String,
    pub(super) steps: Option<Vec<String>>,
}

impl Plan {
    pub(super) fn class(&self) -> Class {
        match &self.disturbance {
            Disturbance::Restart => Class::Restart,
            Disturbance::Write(Strike::CrashBefore | Strike::CrashAfter, _) => Class::Crash,
            Disturbance::Write(Strike::DropWatches | Strike::ExpireWatches, _) => Class::Watches,
            Disturbance::Write(..) => Class::Requests,
            Disturbance::DeleteOwners(_) | Disturbance::Delete(_) | Disturbance::Edit(_) | Disturbance::Foreign(_) => {
                Class::World
            }
            Disturbance::Spec(_) | Disturbance::CreatedSo(_) => Class::Edits,
        }
    }

    /// Whether the run may end elsewhere than the reference: then its own rules are checked alone, and no further step is taken.
    pub(super) fn changes_the_end(&self) -> bool {
        matches!(
            self.disturbance,
            Disturbance::DeleteOwners(_) | Disturbance::Foreign(_) | Disturbance::CreatedSo(_)
        )
    }

    /// Whether no further step is taken after its own.
    pub(super) fn is_the_last(&self) -> bool {
        self.changes_the_end() || matches!(self.disturbance, Disturbance::Spec(_))
    }

    /// The write at which something happens.
    pub(super) fn strike(&self) -> Option<(WriteAddress, Strike)> {
        match &self.disturbance {
            Disturbance::Write(strike, address) => Some((address.clone(), *strike)),
            Disturbance::DeleteOwners(address) => Some((address.clone(), Strike::Pause)),
            _ => None,
        }
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let step = &self.step;
        match &self.disturbance {
            Disturbance::Restart => write!(f, "restart before step {step}")?,
            Disturbance::Write(strike, at) => {
                match strike {
                    Strike::CrashBefore => write!(f, "crash before {at}")?,
                    Strike::CrashAfter => write!(f, "crash after {at}")?,
                    Strike::Answer(code) => write!(f, "answer {code} to {at}")?,
                    Strike::LoseAnswer => write!(f, "lose the answer to {at}")?,
                    Strike::Unreachable => write!(f, "no connection for {at}")?,
                    Strike::Delay(_) => write!(f, "delay {at}")?,
                    Strike::DropWatches => write!(f, "drop watches at {at}")?,
                    Strike::ExpireWatches => write!(f, "expire watches at {at}")?,
                    Strike::Pause => write!(f, "pause after {at}")?,
                }
                write!(f, " in step {step}")?;
            }
            Disturbance::DeleteOwners(at) => write!(f, "delete owners after {at} in step {step}")?,
            Disturbance::Delete(object) => write!(f, "delete {object} after step {step}")?,
            Disturbance::Edit(object) => write!(f, "edit {object} after step {step}")?,
            Disturbance::Foreign(object) => write!(f, "foreign {object} before step {step}")?,
            Disturbance::Spec(edit) => write!(f, "change {edit} after step {step}")?,
            Disturbance::CreatedSo(edit) => write!(f, "create {edit} in step {step}")?,
        }
        match &self.steps {
            Some(steps) => write!(f, " of {}", steps.join(", ")),
            None => Ok(()),
        }
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
        let disturbance = disturbance(what, place.trim()).ok_or_else(|| error("what happens is not known"))?;
        Ok(Plan {
            disturbance,
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
            if let Some(rest) = what.strip_prefix("change ") {
                return SpecEdit::parse(rest).map(Disturbance::Spec);
            }
            return match what.strip_prefix("delete ") {
                Some(rest) => Some(Disturbance::Delete(object(rest)?)),
                None => Some(Disturbance::Edit(object(what.strip_prefix("edit ")?)?)),
            };
        }
        _ => {}
    }
    if let Some(rest) = what.strip_prefix("delete owners after ") {
        return Some(Disturbance::DeleteOwners(address(rest)?));
    }
    if let Some(rest) = what.strip_prefix("answer ") {
        let (code, rest) = rest.split_once(" to ")?;
        return Some(Disturbance::Write(Strike::Answer(code.parse().ok()?), address(rest)?));
    }
    let strikes = [
        ("crash before ", Strike::CrashBefore),
        ("crash after ", Strike::CrashAfter),
        ("lose the answer to ", Strike::LoseAnswer),
        ("no connection for ", Strike::Unreachable),
        ("delay ", Strike::Delay(DELAY)),
        ("drop watches at ", Strike::DropWatches),
        ("expire watches at ", Strike::ExpireWatches),
    ];
    let (rest, strike) = strikes
        .iter()
        .find_map(|(words, strike)| Some((what.strip_prefix(words)?, *strike)))?;
    Some(Disturbance::Write(strike, address(rest)?))
}

/// `create configmaps/x #1`
fn address(text: &str) -> Option<WriteAddress> {
    let (verb, rest) = text.split_once(' ')?;
    let (object, nth) = rest.rsplit_once(" #")?;
    let (resource, name) = object.rsplit_once('/')?;
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
            "crash before create configmaps/x #1 in step create",
            "crash after patch deployments.apps/status/web #12 in step create of create, delete",
            "answer 409 to update configmaps/x #1 in step two words",
            "lose the answer to create services/web-* #1 in step create",
            "no connection for delete pods/other:a #1 in step create",
            "delay create configmaps/x #1 in step create",
            "drop watches at create configmaps/x #1 in step create",
            "expire watches at create configmaps/x #1 in step create",
            "delete owners after create configmaps/x #1 in step create",
            "delete configmaps/x after step create",
            "edit deployments.apps/web after step create of create",
            "foreign configmaps/x before step create",
            r#"change apps.example.com/a: /spec/text = " of step, in step x"; undo after step create of create"#,
        ] {
            let plan: Plan = text.parse().unwrap();
            assert_eq!(plan.to_string(), text);
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
