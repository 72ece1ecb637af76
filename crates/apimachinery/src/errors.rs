//! Several errors as one message.

use std::collections::HashSet;

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
