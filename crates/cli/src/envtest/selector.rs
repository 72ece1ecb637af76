//! Which Kubernetes is wanted, as `setup-envtest use` takes it: `1.36.3`, `1.36`, `1.36.x`, `~1.36.2`, `<1.37`, `1.36.x!`, `latest`.

use std::fmt;
use std::str::FromStr;

/// A version of Kubernetes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Version(pub(super) u32, pub(super) u32, pub(super) u32);

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.0, self.1, self.2)
    }
}

/// The versions that somebody is content with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Selector {
    text: String,
    rule: Rule,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rule {
    Any,
    Exactly(Version),
    /// Of this minor version, with this patch or a later one.
    Minor(Version),
    Below(Version),
    AtMost(Version),
    AtLeast(Version),
    Above(Version),
}

/// A text that selects no version.
#[derive(Debug, thiserror::Error)]
#[error(
    "{0:?} is no version: write 1.36.3, 1.36 or 1.36.x, with ~, <, <=, > or >= before it and ! behind it if you like, or `latest`"
)]
pub(super) struct SelectorError(String);

impl FromStr for Selector {
    type Err = SelectorError;

    fn from_str(text: &str) -> Result<Self, SelectorError> {
        let wrong = || SelectorError(text.to_owned());
        let rule = match text {
            "latest" | "latest-on-disk" => Rule::Any,
            _ => rule(text).ok_or_else(wrong)?,
        };
        Ok(Selector {
            text: text.to_owned(),
            rule,
        })
    }
}

fn rule(text: &str) -> Option<Rule> {
    // Nothing is fetched, so there is no newer one to look for.
    let text = text.strip_suffix('!').unwrap_or(text);
    let operators = ["<=", ">=", "<", ">", "~"];
    let operator = operators.into_iter().find(|operator| text.starts_with(operator));
    let numbers = &text[operator.unwrap_or_default().len()..];
    let parts: Vec<&str> = numbers.split('.').collect();
    let (major, minor, patch) = match parts.as_slice() {
        [major, minor] | [major, minor, "x" | "*"] => (number(major)?, number(minor)?, None),
        [major, minor, patch] => (number(major)?, number(minor)?, Some(number(patch)?)),
        _ => return None,
    };
    let first = Version(major, minor, patch.unwrap_or(0));
    let last = Version(major, minor, patch.unwrap_or(u32::MAX));
    Some(match operator {
        None => patch.map_or(Rule::Minor(first), |_| Rule::Exactly(first)),
        Some("~") => Rule::Minor(first),
        Some("<") => Rule::Below(first),
        Some("<=") => Rule::AtMost(last),
        Some(">") => Rule::Above(last),
        Some(_) => Rule::AtLeast(first),
    })
}

/// A number without leading zeros.
fn number(text: &str) -> Option<u32> {
    let is_written_well = text == "0" || (!text.starts_with('0') && text.bytes().all(|byte| byte.is_ascii_digit()));
    text.parse().ok().filter(|_| is_written_well)
}

impl Selector {
    pub(super) fn matches(&self, version: Version) -> bool {
        match self.rule {
            Rule::Any => true,
            Rule::Exactly(exact) => version == exact,
            Rule::Minor(least) => (version.0, version.1) == (least.0, least.1) && version >= least,
            Rule::Below(limit) => version < limit,
            Rule::AtMost(limit) => version <= limit,
            Rule::AtLeast(limit) => version >= limit,
            Rule::Above(limit) => version > limit,
        }
    }
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_selected_as_setup_envtest_does() {
        let version = Version(1, 36, 3);
        let selects = |text: &str| text.parse::<Selector>().unwrap().matches(version);
        for text in [
            "1.36.3",
            "1.36.3!",
            "1.36",
            "1.36.x",
            "1.36.*",
            "1.36.x!",
            "~1.36.0",
            "~1.36.3",
            "~1.36",
            "<1.37",
            "<1.36.4",
            "<=1.36",
            "<=1.36.3",
            "<=1.36.x",
            ">=1.35",
            ">=1.36.3",
            ">1.35",
            ">1.36.2",
            "latest",
            "latest-on-disk",
        ] {
            assert!(selects(text), "{text}");
        }
        for text in [
            "1.36.2", "1.35", "1.37.x", "~1.36.4", "~1.35.0", "<1.36", "<1.36.3", "<=1.36.2", "<=1.35", ">=1.37",
            ">1.36", ">1.36.3", "2.36.3",
        ] {
            assert!(!selects(text), "{text}");
        }
    }

    #[test]
    fn what_is_no_version_is_refused() {
        for text in [
            "",
            "x",
            "1",
            "v1.36",
            "1.36.y",
            "1.36.03",
            "01.36",
            "1.36.3.4",
            "=1.36",
            "1.+6",
            "!",
            "~",
            "1.99999999999",
        ] {
            assert!(text.parse::<Selector>().is_err(), "{text}");
        }
    }
}
