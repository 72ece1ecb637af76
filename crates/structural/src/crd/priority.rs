//! The order of versions that discovery and clients prefer (C11): `v10`, `v2`, `v1`, `v11beta2`, …, then the rest by name.

use std::cmp::Ordering;

/// How two version names compare: the preferred one is the greater.
pub fn compare_versions(left: &str, right: &str) -> Ordering {
    match (Parsed::of(left), Parsed::of(right)) {
        (Some(left), Some(right)) => left.cmp(&right),
        (Some(_), None) => Ordering::Greater,
        (None, Some(_)) => Ordering::Less,
        (None, None) => right.cmp(left),
    }
}

/// A version of the form `v1`, `v2beta3`; derived order is the order of preference.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Parsed {
    stability: Stability,
    major: u64,
    minor: u64,
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Stability {
    Alpha,
    Beta,
    Stable,
}

impl Parsed {
    fn of(name: &str) -> Option<Parsed> {
        let rest = name.strip_prefix('v')?;
        let (major, rest) = number(rest)?;
        if rest.is_empty() {
            return Some(Parsed {
                stability: Stability::Stable,
                major,
                minor: 0,
            });
        }
        let (stability, rest) = match (rest.strip_prefix("alpha"), rest.strip_prefix("beta")) {
            (Some(rest), _) => (Stability::Alpha, rest),
            (_, Some(rest)) => (Stability::Beta, rest),
            _ => return None,
        };
        let (minor, rest) = number(rest)?;
        rest.is_empty().then_some(Parsed {
            stability,
            major,
            minor,
        })
    }
}

/// A number without a leading zero that fits into Go's int, and what follows it.
fn number(text: &str) -> Option<(u64, &str)> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, rest) = text.split_at(digits);
    if digits.starts_with('0') {
        return None;
    }
    let number = digits.parse().ok().filter(|number| i64::try_from(*number).is_ok())?;
    Some((number, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stable_versions_come_before_beta_before_alpha_before_the_rest() {
        let mut versions = vec![
            "foo10",
            "v1",
            "v12alpha1",
            "v3beta1",
            "foo1",
            "v11alpha2",
            "v10",
            "v2",
            "v10beta3",
            "v11beta2",
            "v0",
        ];
        versions.sort_by(|left, right| compare_versions(right, left));
        let expected = [
            "v10",
            "v2",
            "v1",
            "v11beta2",
            "v10beta3",
            "v3beta1",
            "v12alpha1",
            "v11alpha2",
            "foo1",
            "foo10",
            "v0",
        ];
        assert_eq!(versions, expected);
    }
}
