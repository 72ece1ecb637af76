//! What of a Pod violates a policy.

use serde_json::Value;

use crate::checks::CHECKS;
use crate::{Level, LevelVersion, Version};

/// The newest version in which a check changed; later ones are the same.
const NEWEST: u64 = 35;

/// What one check forbids.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// In a few words.
    pub reason: &'static str,
    /// What exactly.
    pub detail: String,
}

/// What of a Pod violates a policy, in the order of the checks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Violations(pub Vec<Violation>);

impl Violations {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The reasons alone, as namespaces are warned with.
    pub fn reasons(&self) -> String {
        let reasons: Vec<&str> = self.0.iter().map(|violation| violation.reason).collect();
        reasons.join(", ")
    }

    /// The reasons with their details.
    pub fn details(&self) -> String {
        let details = self.0.iter().map(|violation| {
            if violation.detail.is_empty() {
                violation.reason.to_owned()
            } else {
                format!("{} ({})", violation.reason, violation.detail)
            }
        });
        details.collect::<Vec<_>>().join(", ")
    }
}

/// What of a Pod (an object with `metadata` and `spec`) violates a level of a version.
pub fn violations(policy: LevelVersion, pod: &Value) -> Violations {
    let minor = match policy.version {
        Version::Minor(minor) => minor.min(NEWEST),
        Version::Latest => NEWEST,
    };
    let is_overridden = |id: &str| {
        policy.level == Level::Restricted
            && CHECKS.iter().any(|check| {
                check.level == Level::Restricted && check.overrides == Some(id) && check.at(minor).is_some()
            })
    };
    let checks = CHECKS
        .iter()
        .filter(|check| check.level <= policy.level && !is_overridden(check.id))
        .filter_map(|check| check.at(minor));
    Violations(checks.filter_map(|check| check(pod)).collect())
}
