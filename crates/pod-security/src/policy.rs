//! The policy that the labels of a namespace ask for.

use std::fmt;

use serde_json::Value;

/// How strict a policy is; a later one is stricter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Everything is allowed.
    #[default]
    Privileged,
    /// What is known to escalate privileges is not.
    Baseline,
    /// Only hardened Pods are allowed.
    Restricted,
}

impl Level {
    /// Reads a level.
    pub fn parse(text: &str) -> Option<Level> {
        match text {
            "privileged" => Some(Level::Privileged),
            "baseline" => Some(Level::Baseline),
            "restricted" => Some(Level::Restricted),
            _ => None,
        }
    }

    /// As labels have it.
    pub fn name(self) -> &'static str {
        match self {
            Level::Privileged => "privileged",
            Level::Baseline => "baseline",
            Level::Restricted => "restricted",
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Of which version of Kubernetes the checks are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Version {
    /// `v1.N`
    Minor(u64),
    /// The newest that is known.
    #[default]
    Latest,
}

impl Version {
    /// Reads `latest` or `v1.N`.
    pub fn parse(text: &str) -> Option<Version> {
        if text == "latest" {
            return Some(Version::Latest);
        }
        let minor = text.strip_prefix("v1.")?;
        let is_canonical = minor.bytes().all(|byte| byte.is_ascii_digit()) && (minor == "0" || !minor.starts_with('0'));
        // What does not fit into upstream's numbers is no version.
        let minor: i64 = minor.parse().ok().filter(|_| is_canonical)?;
        u64::try_from(minor).ok().map(Version::Minor)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Version::Minor(minor) => write!(f, "v1.{minor}"),
            Version::Latest => f.write_str("latest"),
        }
    }
}

/// A level as it is in a version.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LevelVersion {
    /// How strict it is.
    pub level: Level,
    /// Whose checks are meant.
    pub version: Version,
}

impl fmt::Display for LevelVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.level, self.version)
    }
}

/// What a namespace asks for, by mode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    /// What violates this is refused.
    pub enforce: LevelVersion,
    /// What violates this is noted in the audit trail.
    pub audit: LevelVersion,
    /// What violates this is warned of.
    pub warn: LevelVersion,
}

/// A label that is neither a level nor a version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabelError {
    /// The label's key.
    pub label: &'static str,
    /// Its value.
    pub value: String,
    /// What it must be.
    pub message: &'static str,
}

const PREFIX: &str = "pod-security.kubernetes.io/";
pub(crate) const LEVELS: &str = "must be one of privileged, baseline, restricted";
pub(crate) const VERSIONS: &str = r#"must be "latest" or "v1.x""#;

impl Policy {
    /// What the labels of a namespace ask for, and which of them are mistaken. A mistaken level to enforce counts as
    /// `restricted`, any other as `privileged`; a mistaken version as `latest`.
    pub fn of_labels(labels: Option<&Value>, defaults: Policy) -> (Policy, Vec<LabelError>) {
        let mut policy = defaults;
        let mut errors = Vec::new();
        let Some(labels) = labels.and_then(Value::as_object) else {
            return (policy, errors);
        };
        if !labels.keys().any(|key| key.starts_with(PREFIX)) {
            return (policy, errors);
        }
        let mut level = |label: &'static str, otherwise: Level| {
            let value = labels.get(label)?.as_str()?;
            let level = Level::parse(value);
            if level.is_none() {
                errors.push(LabelError {
                    label,
                    value: value.to_owned(),
                    message: LEVELS,
                });
            }
            Some((level.unwrap_or(otherwise), level.is_some()))
        };
        let enforced = level("pod-security.kubernetes.io/enforce", Level::Restricted);
        let mut versions = Vec::new();
        let mut version = |label: &'static str| {
            let value = labels.get(label)?.as_str()?;
            let version = Version::parse(value);
            if version.is_none() {
                versions.push(LabelError {
                    label,
                    value: value.to_owned(),
                    message: VERSIONS,
                });
            }
            Some(version.unwrap_or_default())
        };
        let enforced_version = version("pod-security.kubernetes.io/enforce-version");
        let audited = level("pod-security.kubernetes.io/audit", Level::Privileged);
        let audited_version = version("pod-security.kubernetes.io/audit-version");
        let warned = level("pod-security.kubernetes.io/warn", Level::Privileged);
        let warned_version = version("pod-security.kubernetes.io/warn-version");
        errors.append(&mut versions);
        let order = |label: &str| {
            let modes = ["enforce", "audit", "warn"];
            let mode = modes
                .into_iter()
                .position(|mode| label[PREFIX.len()..].starts_with(mode));
            (mode, label.ends_with("-version"))
        };
        errors.sort_by_key(|error| order(error.label));
        for (target, level, version) in [
            (&mut policy.enforce, enforced, enforced_version),
            (&mut policy.audit, audited, audited_version),
            (&mut policy.warn, warned, warned_version),
        ] {
            target.level = level.map_or(target.level, |(level, _)| level);
            target.version = version.unwrap_or(target.version);
        }
        // Who enforces a level without a word about warnings is warned about workloads, too.
        let is_given = enforced.is_some_and(|(_, is_valid)| is_valid);
        if warned.is_none() && is_given && policy.enforce.level > policy.warn.level {
            policy.warn.level = policy.enforce.level;
            if warned_version.is_none() {
                policy.warn.version = policy.enforce.version;
            }
        }
        (policy, errors)
    }

    /// Whether nothing violates it.
    pub fn is_privileged(&self) -> bool {
        [self.enforce, self.audit, self.warn]
            .iter()
            .all(|mode| mode.level == Level::Privileged)
    }

    /// Whether two policies have the same effect.
    pub fn is_equivalent(&self, other: &Policy) -> bool {
        let is_same = |one: LevelVersion, other: LevelVersion| {
            one == other || one.level == Level::Privileged && other.level == Level::Privileged
        };
        is_same(self.enforce, other.enforce) && is_same(self.audit, other.audit) && is_same(self.warn, other.warn)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_enforced_is_warned_of_unless_a_label_says_otherwise() {
        let labels = json!({ "pod-security.kubernetes.io/enforce": "restricted", "pod-security.kubernetes.io/enforce-version": "v1.30" });
        let (policy, errors) = Policy::of_labels(Some(&labels), Policy::default());
        assert!(errors.is_empty());
        assert_eq!(policy.warn.to_string(), "restricted:v1.30");
        assert_eq!(policy.audit.to_string(), "privileged:latest");
    }

    #[test]
    fn mistaken_labels_are_strict_where_they_enforce_and_lenient_elsewhere() {
        let labels = json!({ "pod-security.kubernetes.io/enforce": "most", "pod-security.kubernetes.io/warn": "some", "pod-security.kubernetes.io/enforce-version": "v1.01" });
        let (policy, errors) = Policy::of_labels(Some(&labels), Policy::default());
        assert_eq!(
            policy.enforce,
            LevelVersion {
                level: Level::Restricted,
                version: Version::Latest
            }
        );
        assert_eq!(policy.warn.level, Level::Privileged);
        let labels: Vec<&str> = errors.iter().map(|error| &error.label[PREFIX.len()..]).collect();
        assert_eq!(labels, ["enforce", "enforce-version", "warn"]);
    }
}
