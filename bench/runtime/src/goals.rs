//! The goals for our figures, and whether they are met. All goals compare ours with controller-runtime's.

/// A goal for one figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Goal {
    /// There is no goal; the figure is only printed.
    None,
    /// Ours is at least this many times theirs.
    AtLeast(f64),
    /// Ours is at most this part of theirs.
    AtMost(f64),
    /// Ours is at most the first part of theirs; the second is a stretch goal.
    AtMostAiming(f64, f64),
    /// Ours is zero.
    Zero,
}

/// Whether a goal was met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GoalResult {
    Met,
    Missed,
    /// A figure to compare with is missing.
    Unknown,
}

impl Goal {
    pub(crate) fn result(self, theirs: Option<f64>, ours: Option<f64>) -> Option<GoalResult> {
        let result_of = |met: bool| if met { GoalResult::Met } else { GoalResult::Missed };
        let compared = theirs.zip(ours);
        Some(match self {
            Goal::None => return None,
            Goal::Zero => ours.map_or(GoalResult::Unknown, |ours| result_of(ours == 0.0)),
            Goal::AtLeast(times) => {
                compared.map_or(GoalResult::Unknown, |(theirs, ours)| result_of(ours >= times * theirs))
            }
            Goal::AtMost(part) | Goal::AtMostAiming(part, _) => {
                compared.map_or(GoalResult::Unknown, |(theirs, ours)| result_of(ours <= part * theirs))
            }
        })
    }

    /// The goal as text.
    pub(crate) fn words(self) -> String {
        match self {
            Goal::None => String::new(),
            Goal::AtLeast(times) => format!("≥ {times}×"),
            Goal::AtMost(part) => format!("≤ {}", part_of(part)),
            Goal::AtMostAiming(part, aim) => format!("≤ {} (aim {})", part_of(part), part_of(aim)),
            Goal::Zero => "none".to_owned(),
        }
    }
}

fn part_of(part: f64) -> String {
    if part >= 1.0 {
        format!("{part}×")
    } else {
        format!("1/{:.0}", 1.0 / part)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_goal_is_met_at_its_limit_and_missed_beyond() {
        let half = Goal::AtMost(0.5);
        assert_eq!(half.result(Some(10.0), Some(5.0)), Some(GoalResult::Met));
        assert_eq!(half.result(Some(10.0), Some(5.1)), Some(GoalResult::Missed));
        assert_eq!(
            Goal::AtLeast(2.0).result(Some(10.0), Some(19.0)),
            Some(GoalResult::Missed)
        );
        assert_eq!(Goal::Zero.result(None, Some(0.0)), Some(GoalResult::Met));
        assert_eq!(Goal::Zero.result(Some(3.0), Some(1.0)), Some(GoalResult::Missed));
    }

    #[test]
    fn a_goal_without_the_other_figure_is_not_called_met() {
        assert_eq!(Goal::AtMost(0.5).result(None, Some(1.0)), Some(GoalResult::Unknown));
        assert_eq!(Goal::None.result(Some(1.0), Some(1.0)), None);
    }

    #[test]
    fn goals_are_told_in_words() {
        assert_eq!(Goal::AtMostAiming(0.5, 1.0 / 3.0).words(), "≤ 1/2 (aim 1/3)");
        assert_eq!(Goal::AtLeast(2.0).words(), "≥ 2×");
        assert_eq!(Goal::AtMost(1.0).words(), "≤ 1×");
    }
}
