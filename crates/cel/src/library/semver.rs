//! Semantic versions: what is one, and which goes before which.

use std::cmp::Ordering;

use kubewright_apimachinery::go::quote;

use crate::error::EvalError;

/// A semantic version; build metadata does not take part in comparisons.
#[derive(Debug, Clone)]
pub struct Semver {
    pub(super) numbers: [u64; 3],
    pre: Vec<String>,
}

fn error(message: impl Into<std::sync::Arc<str>>) -> EvalError {
    EvalError::new(message)
}

impl Semver {
    pub(super) fn parse(text: &str) -> Result<Self, EvalError> {
        if text.is_empty() {
            return Err(EvalError::fixed("Version string empty"));
        }
        let parts: Vec<&str> = text.splitn(3, '.').collect();
        let [major, minor, rest] = parts[..] else {
            return Err(EvalError::fixed("No Major.Minor.Patch elements found"));
        };
        let major = number(major, "Major")?;
        let minor = number(minor, "Minor")?;
        let (rest, build) = rest
            .split_once('+')
            .map_or((rest, None), |(rest, build)| (rest, Some(build)));
        let (patch, pre) = rest
            .split_once('-')
            .map_or((rest, None), |(patch, pre)| (patch, Some(pre)));
        let patch = number(patch, "Patch")?;
        let pre = match pre {
            None => Vec::new(),
            Some(pre) => pre.split('.').map(prerelease).collect::<Result<_, _>>()?,
        };
        for part in build.into_iter().flat_map(|build| build.split('.')) {
            if part.is_empty() {
                return Err(EvalError::fixed("Build meta data is empty"));
            }
            if !part.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-') {
                return Err(error(format!(
                    "Invalid character(s) found in build meta data {part}",
                    part = quote(part)
                )));
            }
        }
        Ok(Self {
            numbers: [major, minor, patch],
            pre,
        })
    }

    /// Reads `v1.02` as `1.2.0`.
    pub(super) fn parse_lenient(text: &str) -> Result<Self, EvalError> {
        let text = text.strip_prefix('v').unwrap_or(text);
        let mut parts: Vec<String> = text
            .splitn(3, '.')
            .map(|part| {
                let trimmed = if part.len() > 1 {
                    part.trim_start_matches('0')
                } else {
                    part
                };
                let needs_zero = part.len() > 1 && !trimmed.starts_with(|c: char| c.is_ascii_digit());
                if needs_zero {
                    format!("0{trimmed}")
                } else {
                    trimmed.to_owned()
                }
            })
            .collect();
        if parts.len() < 3 {
            if parts.last().is_some_and(|part| part.contains(['+', '-'])) {
                return Err(EvalError::fixed(
                    "short version cannot contain PreRelease/Build meta data",
                ));
            }
            parts.resize(3, "0".to_owned());
        }
        Self::parse(&parts.join("."))
    }

    pub(super) fn order(&self, other: &Self) -> Ordering {
        let numbers = self.numbers.cmp(&other.numbers);
        numbers.then_with(|| match (self.pre.is_empty(), other.pre.is_empty()) {
            (true, true) => Ordering::Equal,
            (true, false) => Ordering::Greater,
            (false, true) => Ordering::Less,
            (false, false) => {
                let parts = self
                    .pre
                    .iter()
                    .zip(&other.pre)
                    .map(|(left, right)| pre_order(left, right));
                parts
                    .fold(Ordering::Equal, Ordering::then)
                    .then(self.pre.len().cmp(&other.pre.len()))
            }
        })
    }
}

fn pre_order(left: &str, right: &str) -> Ordering {
    match (left.parse::<u64>(), right.parse::<u64>()) {
        (Ok(left), Ok(right)) => left.cmp(&right),
        (Ok(_), Err(_)) => Ordering::Less,
        (Err(_), Ok(_)) => Ordering::Greater,
        (Err(_), Err(_)) => left.cmp(right),
    }
}

fn number(text: &str, name: &str) -> Result<u64, EvalError> {
    if !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(error(format!(
            "Invalid character(s) found in {} number {}",
            name.to_lowercase(),
            quote(text)
        )));
    }
    if text.len() > 1 && text.starts_with('0') {
        return Err(error(format!(
            "{name} number must not contain leading zeroes {text}",
            text = quote(text)
        )));
    }
    text.parse().map_err(|_| {
        let why = if text.is_empty() {
            "invalid syntax"
        } else {
            "value out of range"
        };
        error(format!("strconv.ParseUint: parsing {text}: {why}", text = quote(text)))
    })
}

fn prerelease(part: &str) -> Result<String, EvalError> {
    if part.is_empty() {
        return Err(EvalError::fixed("Prerelease is empty"));
    }
    let numeric = part.bytes().all(|byte| byte.is_ascii_digit());
    if numeric && part.len() > 1 && part.starts_with('0') {
        return Err(error(format!(
            "Numeric PreRelease version must not contain leading zeroes {}",
            quote(part)
        )));
    }
    if !part.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-') {
        return Err(error(format!(
            "Invalid character(s) found in prerelease {part}",
            part = quote(part)
        )));
    }
    Ok(part.to_owned())
}
