//! Several errors as one message, and an error with its sources.

use std::collections::HashSet;
use std::error::Error;

/// The messages of several errors as one, as Go's `utilerrors.Aggregate` prints them: a single one as it is, several in
/// brackets, equal ones once. `None` if there are no errors.
///
/// ```
/// use kubewright_apimachinery::errors::aggregate;
///
/// assert_eq!(aggregate(["a"]).as_deref(), Some("a"));
/// assert_eq!(aggregate(["a", "b", "a"]).as_deref(), Some("[a, b]"));
/// assert_eq!(aggregate(Vec::<String>::new()), None);
/// ```
pub fn aggregate(messages: impl IntoIterator<Item = impl Into<String>>) -> Option<String> {
    let mut seen = HashSet::new();
    let mut unique: Vec<String> = messages.into_iter().map(Into::into).collect();
    unique.retain(|message| seen.insert(message.clone()));
    match unique.len() {
        0 => None,
        1 => unique.pop(),
        _ => Some(format!("[{}]", unique.join(", "))),
    }
}

/// The message of an error and those of its sources, separated by `": "`, as Go's wrapped errors print.
///
/// ```
/// use kubewright_apimachinery::errors::with_sources;
///
/// let error = "x".parse::<u8>().unwrap_err();
/// assert_eq!(with_sources(&error), "invalid digit found in string");
/// ```
pub fn with_sources(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        text.push_str(": ");
        text.push_str(&error.to_string());
        source = error.source();
    }
    text
}
