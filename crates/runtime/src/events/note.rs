//! What an event says.

use std::collections::BTreeMap;

use super::reference::{Referable, Reference};

/// The server accepts no longer text.
const LONGEST_TEXT: usize = 1024;

/// The type of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EventType {
    /// `Normal`: something happened as it should.
    Normal,
    /// `Warning`: something that a person should look at.
    Warning,
}

impl EventType {
    /// The name in the API.
    pub fn as_str(self) -> &'static str {
        match self {
            EventType::Normal => "Normal",
            EventType::Warning => "Warning",
        }
    }
}

/// What an event says.
///
/// ```
/// use k8s_openapi::api::core::v1::Pod;
/// use kubewright_runtime::events::EventNote;
///
/// let pod = Pod::default();
/// let note = EventNote::warning("Degraded", "Reconcile", "the viewer is gone").related(&pod);
/// assert_eq!(note.reason, "Degraded");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventNote {
    /// `Normal` or `Warning`.
    pub kind: EventType,
    /// Why: one word in upper camel case, for machines. At most 128 characters.
    pub reason: String,
    /// What was done or failed: likewise.
    pub action: String,
    /// The text for people. What exceeds 1024 bytes is cut.
    pub text: String,
    /// A second object.
    pub related: Option<Reference>,
    /// Annotations of the event.
    pub annotations: BTreeMap<String, String>,
}

impl EventNote {
    /// An event of type `Normal`.
    pub fn normal(reason: impl Into<String>, action: impl Into<String>, text: impl Into<String>) -> Self {
        Self::new(EventType::Normal, reason.into(), action.into(), text.into())
    }

    /// An event of type `Warning`.
    pub fn warning(reason: impl Into<String>, action: impl Into<String>, text: impl Into<String>) -> Self {
        Self::new(EventType::Warning, reason.into(), action.into(), text.into())
    }

    /// Names a second object.
    pub fn related(mut self, object: &impl Referable) -> Self {
        self.related = Some(object.reference());
        self
    }

    /// Annotates the event.
    pub fn annotate(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.annotations.insert(key.into(), value.into());
        self
    }

    fn new(kind: EventType, reason: String, action: String, mut text: String) -> Self {
        cut(&mut text, LONGEST_TEXT);
        EventNote {
            kind,
            reason,
            action,
            text,
            related: None,
            annotations: BTreeMap::new(),
        }
    }
}

/// Shortens a text to so many bytes, visibly, between characters.
pub(super) fn cut(text: &mut String, longest: usize) {
    const MARK: &str = "...";
    if text.len() > longest {
        let mut end = longest.saturating_sub(MARK.len());
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        text.truncate(end);
        text.push_str(MARK);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_is_too_long_is_cut_between_characters() {
        let note = EventNote::normal("Reason", "Action", "ä".repeat(1000));
        assert_eq!(note.text.len(), 1023);
        assert!(note.text.ends_with("ä..."));
        assert_eq!(
            EventNote::normal("Reason", "Action", "a".repeat(1024)).text,
            "a".repeat(1024)
        );
    }
}
