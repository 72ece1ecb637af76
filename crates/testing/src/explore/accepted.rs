//! Differences that a test lets pass, by their names.

/// What is accepted, each as a pattern and a reason.
#[derive(Clone, Debug, Default)]
pub(super) struct Accepted(Vec<(String, String)>);

/// What became of what is accepted.
pub(super) struct Sightings {
    /// What some run has shown.
    pub(super) seen: Vec<String>,
    /// What no run has shown.
    pub(super) unseen: Vec<String>,
}

impl Accepted {
    pub(super) fn add(&mut self, pattern: String, reason: String) {
        self.0.push((pattern, reason));
    }

    /// Whether a difference of this name is let pass.
    pub(super) fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(pattern, _)| is_match(pattern, name))
    }

    /// Which of it the names show that were seen: each as `NAME: REASON`.
    pub(super) fn sightings<'a>(&self, names: &(impl Iterator<Item = &'a str> + Clone)) -> Sightings {
        let is_seen = |(pattern, _): &&(String, String)| names.clone().any(|name| is_match(pattern, name));
        let (seen, unseen): (Vec<_>, Vec<_>) = self.0.iter().partition(is_seen);
        let told = |entries: Vec<&(String, String)>| -> Vec<String> {
            let lines = entries.iter().map(|(pattern, reason)| format!("{pattern}: {reason}"));
            lines.collect()
        };
        Sightings {
            seen: told(seen),
            unseen: told(unseen),
        }
    }
}

/// Whether a name is meant: the same one, or for `prefix*` each that begins so.
fn is_match(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(prefix) => name.starts_with(prefix) || name == pattern,
        None => name == pattern,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_or_its_beginning_is_accepted() {
        let mut accepted = Accepted::default();
        accepted.add("missing secrets/token".to_owned(), "made by hand".to_owned());
        accepted.add("unexpected services/web-*".to_owned(), "they are kept".to_owned());
        assert!(accepted.has("missing secrets/token"));
        assert!(accepted.has("unexpected services/web-*2"));
        assert!(!accepted.has("missing secrets/token-2"));
        let sightings = accepted.sightings(&["unexpected services/web-1"].into_iter());
        assert_eq!(sightings.seen, ["unexpected services/web-*: they are kept"]);
        assert_eq!(sightings.unseen, ["missing secrets/token: made by hand"]);
    }
}
