//! The `timeout` parameter of requests: a Go duration (H11). Answers come at once here unless webhooks are
//! waited for.

use std::time::Duration;

use kubewright_apimachinery::duration;

use crate::registry::Verb;

/// What is wrong with a timeout, in Go's words. Watches have `timeoutSeconds` instead and ignore this one.
pub(crate) fn check(timeout: Option<&str>, verb: Verb) -> Result<(), String> {
    match timeout {
        Some(text) if verb != Verb::Watch && !text.is_empty() => duration::parse(text).map(drop),
        _ => Ok(()),
    }
}

/// How long a timeout is, if it is a duration and not a negative one.
pub(crate) fn duration(text: &str) -> Option<Duration> {
    duration::parse_unsigned(text)
}
