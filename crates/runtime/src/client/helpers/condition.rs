//! Conditions of a status: a list that is a map by type, with times that tell when something really changed.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};

/// What a condition should say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConditionUpdate {
    type_: String,
    status: &'static str,
    reason: String,
    message: String,
    observed_generation: Option<i64>,
}

impl ConditionUpdate {
    /// The condition holds.
    pub fn is_true(type_: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::new(type_, "True", reason)
    }

    /// The condition does not hold.
    pub fn is_false(type_: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::new(type_, "False", reason)
    }

    /// It is not known whether the condition holds.
    pub fn unknown(type_: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::new(type_, "Unknown", reason)
    }

    fn new(type_: impl Into<String>, status: &'static str, reason: impl Into<String>) -> Self {
        ConditionUpdate {
            type_: type_.into(),
            status,
            reason: reason.into(),
            message: String::new(),
            observed_generation: None,
        }
    }

    /// More, for people.
    pub fn message(mut self, message: impl Into<String>) -> Self {
        self.message = message.into();
        self
    }

    /// The generation of the specification that was looked at.
    pub fn observed(mut self, generation: Option<i64>) -> Self {
        self.observed_generation = generation;
        self
    }
}

/// Sets the condition of a type. The time of transition changes only with the status. Returns whether anything changed.
///
/// ```
/// use jiff::Timestamp;
/// use kubewright_runtime::client::helpers::{ConditionUpdate, set_condition};
///
/// let at = |second| Timestamp::from_second(second).unwrap();
/// let mut conditions = Vec::new();
/// assert!(set_condition(&mut conditions, &ConditionUpdate::is_true("Ready", "AllRun"), at(1)));
/// // Another reason is news, but no transition.
/// assert!(set_condition(&mut conditions, &ConditionUpdate::is_true("Ready", "MostRun"), at(2)));
/// assert_eq!(conditions[0].last_transition_time.0, at(1));
/// assert!(set_condition(&mut conditions, &ConditionUpdate::is_false("Ready", "NoneRun"), at(3)));
/// assert_eq!(conditions[0].last_transition_time.0, at(3));
/// ```
pub fn set_condition(conditions: &mut Vec<Condition>, update: &ConditionUpdate, now: Timestamp) -> bool {
    let Some(existing) = conditions.iter_mut().find(|condition| condition.type_ == update.type_) else {
        conditions.push(Condition {
            type_: update.type_.clone(),
            status: update.status.to_owned(),
            reason: update.reason.clone(),
            message: update.message.clone(),
            observed_generation: update.observed_generation,
            last_transition_time: whole_seconds(now),
        });
        return true;
    };
    let before = existing.clone();
    if existing.status != update.status {
        update.status.clone_into(&mut existing.status);
        existing.last_transition_time = whole_seconds(now);
    }
    existing.reason.clone_from(&update.reason);
    existing.message.clone_from(&update.message);
    existing.observed_generation = update.observed_generation;
    before != *existing
}

/// `metav1.Time` has whole seconds; more would come back different from the server.
fn whole_seconds(now: Timestamp) -> Time {
    Time(Timestamp::from_second(now.as_second()).unwrap_or(now))
}

/// Removes the condition of a type. Returns whether there was one.
pub fn remove_condition(conditions: &mut Vec<Condition>, type_: &str) -> bool {
    let before = conditions.len();
    conditions.retain(|condition| condition.type_ != type_);
    before != conditions.len()
}

/// The condition of a type.
pub fn find_condition<'a>(conditions: &'a [Condition], type_: &str) -> Option<&'a Condition> {
    conditions.iter().find(|condition| condition.type_ == type_)
}

/// Whether there is a condition of a type and it holds.
pub fn is_condition_true(conditions: &[Condition], type_: &str) -> bool {
    find_condition(conditions, type_).is_some_and(|condition| condition.status == "True")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_transition_is_that_of_the_status() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let mut conditions = Vec::new();
        set_condition(&mut conditions, &ConditionUpdate::is_true("Ready", "Ok"), at(1));
        assert!(set_condition(
            &mut conditions,
            &ConditionUpdate::is_true("Ready", "Better"),
            at(2)
        ));
        assert_eq!(conditions[0].last_transition_time.0, at(1));
        assert!(set_condition(
            &mut conditions,
            &ConditionUpdate::is_false("Ready", "Worse"),
            at(3)
        ));
        assert_eq!(conditions[0].last_transition_time.0, at(3));
        assert_eq!(conditions.len(), 1);
        assert!(!is_condition_true(&conditions, "Ready"));
        assert!(remove_condition(&mut conditions, "Ready"));
        assert!(find_condition(&conditions, "Ready").is_none());
    }
}
