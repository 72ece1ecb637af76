//! About which objects something was said by an Event. What was said is read from the API server by whoever looks at one of them.

use std::collections::VecDeque;

use serde_json::Value;

/// As many objects are known about which something was said last.
const MOST: usize = 200;

#[derive(Debug, Default)]
pub(crate) struct Said {
    /// With the change in which something was said last, the oldest first.
    uids: VecDeque<(u64, String)>,
    change: u64,
}

impl Said {
    /// Something was said about the object with this uid.
    pub(crate) fn about(&mut self, uid: &Value) {
        let Some(uid) = uid.as_str() else {
            return;
        };
        self.change += 1;
        self.uids.retain(|(_, known)| known != uid);
        self.uids.push_back((self.change, uid.to_owned()));
        if self.uids.len() > MOST {
            self.uids.pop_front();
        }
    }

    /// The objects about which something was said after a change.
    pub(super) fn since(&self, seen: u64) -> Option<(u64, Vec<&str>)> {
        let uids = self.uids.iter().filter(|(change, _)| *change > seen);
        (self.change > seen).then(|| (self.change, uids.map(|(_, uid)| &**uid).collect()))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_reader_learns_once_about_what_something_was_said() {
        let mut said = Said::default();
        assert!(said.since(0).is_none());
        for uid in [json!("a"), json!("b"), json!("a"), json!(null)] {
            said.about(&uid);
        }
        let (change, uids) = said.since(0).unwrap();
        assert_eq!(uids, ["b", "a"]);
        assert!(said.since(change).is_none());
        for number in 0..2 * MOST {
            said.about(&json!(number.to_string()));
        }
        assert_eq!(said.since(change).unwrap().1.len(), MOST);
    }
}
