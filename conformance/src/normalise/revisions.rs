//! Replaces resourceVersions. Servers number them differently; only their order within a case is the same.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::{Captures, Regex};
use serde_json::{Map, Value};

/// A version inside a text: `…resource version: 7`, `resourceVersion: "7"` of a YAML body, `current: 7`.
static IN_TEXT: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#"(?P<before>(?P<current>current: |too old resource version: [0-9]+ \()|[rR]esource ?[vV]ersion(?: in (?:the )?(?:precondition|record))?[\\"]*(?:: ?[\\"]*| \(?))(?P<version>[0-9]+)"#)
        .expect("the pattern is valid")
});
static IN_SOURCE: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r#"[rR]esourceVersion(?:=|"?: ?"?)([0-9]+)"#).expect("the pattern is valid"));

/// All versions of objects in the responses of a case, in order.
pub(super) struct Revisions {
    seen: Vec<u128>,
    written: BTreeSet<String>,
}

/// Whether a resourceVersion below this key of an object is that of a snapshot: of a list, or of a bookmark's object.
pub(super) fn snapshot_below(object: &Map<String, Value>, key: &str, here: bool) -> bool {
    let is_kind = |suffix: &str| {
        object
            .get("kind")
            .and_then(Value::as_str)
            .is_some_and(|kind| kind.ends_with(suffix))
    };
    match key {
        "resourceVersion" | "rows" => here,
        // A Table of a list has the list's version; a Table of one object has the object's.
        "metadata" => here || object.contains_key("items") && is_kind("List") || is_kind("Table"),
        "object" if object.contains_key("cells") => here,
        "object" => object.get("type").is_some_and(|frame| frame == "BOOKMARK"),
        _ => false,
    }
}

impl Revisions {
    pub(super) fn collect(steps: &Value, source: &str) -> Self {
        let written = IN_SOURCE
            .captures_iter(source)
            .map(|found| found[1].to_owned())
            .collect();
        let mut revisions = Self {
            seen: Vec::new(),
            written,
        };
        revisions.visit(steps, false);
        revisions.seen.sort_unstable();
        revisions.seen.dedup();
        revisions
    }

    fn visit(&mut self, value: &Value, snapshot: bool) {
        match value {
            Value::Object(fields) => {
                for (key, value) in fields {
                    let snapshot = snapshot_below(fields, key, snapshot);
                    match value {
                        Value::String(version) if key == "resourceVersion" && !snapshot => self.see(version),
                        value => self.visit(value, snapshot),
                    }
                }
            }
            Value::Array(items) => items.iter().for_each(|item| self.visit(item, snapshot)),
            Value::String(text) => self.see_text(text),
            _ => {}
        }
    }

    fn see(&mut self, version: &str) {
        if !self.written.contains(version)
            && let Ok(version) = version.parse()
        {
            self.seen.push(version);
        }
    }

    fn see_text(&mut self, text: &str) {
        for found in IN_TEXT.captures_iter(text) {
            if found.name("current").is_none() && !is_list_text(text) {
                self.see(&found["version"]);
            }
        }
    }

    /// `<rv-2>` for the second oldest object version of the case, `<rv-2+>` for a snapshot that includes it.
    pub(super) fn placeholder(&self, version: &str, snapshot: bool) -> String {
        let Ok(number) = version.parse::<u128>() else {
            return version.to_owned();
        };
        if number == 0 || self.written.contains(version) {
            return version.to_owned();
        }
        let rank = self.seen.partition_point(|seen| *seen <= number);
        if snapshot {
            format!("<rv-{rank}+>")
        } else {
            format!("<rv-{rank}>")
        }
    }

    pub(super) fn in_text(&self, text: &str) -> String {
        IN_TEXT
            .replace_all(text, |found: &Captures<'_>| {
                let snapshot = found.name("current").is_some() || is_list_text(text);
                format!("{}{}", &found["before"], self.placeholder(&found["version"], snapshot))
            })
            .into_owned()
    }
}

/// Whether a text is a list in YAML. The versions in it are not told apart by place: all are treated as the snapshot's.
fn is_list_text(text: &str) -> bool {
    text.contains("\nitems:")
}
