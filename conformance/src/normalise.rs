//! Turns the responses of one server into a transcript that every correct server has: values that a server makes up become
//! placeholders, which keep the relations between them.
//!
//! | value | placeholder | what is kept |
//! |---|---|---|
//! | uid | `<uid-1>` | equality, order of appearance |
//! | resourceVersion of an object | `<rv-2>` | rank among all those of the case: equality and order |
//! | resourceVersion of a list or bookmark | `<rv-2+>` | the newest object version it includes (others may write too) |
//! | time | `<time>`, `<micro-time>` | precision |
//! | generated name | `base-<generated-1>` | its base, equality |
//! | age of some seconds in a Table | `<age>` | nothing |
//! | type of `self` in a CEL message | `selfType<number>` | nothing |
//! | order of managers by second, in a case that calls webhooks | by name | which there are |
//! | order of apply conflicts, of rules in a review | sorted | which there are |
//! | address and certificates of the webhook process | `<webhook>`, `<webhook.ca>` … | which of them |
//! | continue token, `ETag`, cluster IP, node port, token | `<continue-1>` … | equality |
//!
//! A value that occurs in the case file was not made up by a server, so it is kept.

mod revisions;
mod text;

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::case::{CaseFile, Variant};
use crate::run::PlayedCase;
use crate::seconds;
use revisions::Revisions;
use text::Texts;

/// The transcript of a played case.
pub fn transcript(file: &CaseFile, variant: &Variant, played: &PlayedCase) -> Value {
    transcript_of(file, variant, played, !file.calls_webhooks())
}

/// The transcript of a played case. Unless it is `timed`, it does not depend on whether a second ended between two writes.
pub fn transcript_of(file: &CaseFile, variant: &Variant, played: &PlayedCase, timed: bool) -> Value {
    let source = written(file, variant);
    let steps = Value::Array(played.steps.clone());
    let revisions = Revisions::collect(&steps, &source);
    let texts = Texts::collect(&steps, &source, played);
    let mut normaliser = Normaliser {
        source: &source,
        revisions,
        texts,
        timed,
        ports: ports(&played.places),
        numbered: BTreeMap::new(),
    };
    let Value::Array(steps) = steps else { return Value::Null };
    Value::Array(steps.into_iter().map(|step| normaliser.value(step, false)).collect())
}

/// The whole text of a case, with its variables replaced.
fn written(file: &CaseFile, variant: &Variant) -> String {
    let mut source = file.source.clone();
    for value in variant.variables.values() {
        source.push('\n');
        source.push_str(&value.to_string());
    }
    source
}

struct Normaliser<'a> {
    source: &'a str,
    revisions: Revisions,
    texts: Texts,
    /// Whether no second ended between two writes, so that the order of managers by time is the same in every run.
    timed: bool,
    /// The ports of the webhook process, with their placeholders.
    ports: BTreeMap<u64, String>,
    /// Made-up values by kind, numbered in order of appearance.
    numbered: BTreeMap<&'static str, Vec<String>>,
}

impl Normaliser<'_> {
    /// Normalises a value. `snapshot` means that a resourceVersion at this place is that of a list or a bookmark.
    fn value(&mut self, value: Value, snapshot: bool) -> Value {
        match value {
            Value::Object(fields) => {
                let places: Vec<bool> = fields
                    .keys()
                    .map(|key| revisions::snapshot_below(&fields, key, snapshot))
                    .collect();
                let fields = fields.into_iter().zip(places).map(|((key, value), snapshot)| {
                    let value = self.field(&key, value, snapshot);
                    (
                        self.texts.normalise(&key, self.numbered.entry("uid").or_default()),
                        value,
                    )
                });
                Value::Object(fields.collect::<Map<_, _>>())
            }
            Value::Array(items) => Value::Array(items.into_iter().map(|item| self.value(item, snapshot)).collect()),
            Value::String(text) => Value::String(self.text(&text)),
            plain => plain,
        }
    }

    fn field(&mut self, key: &str, value: Value, snapshot: bool) -> Value {
        match (key, value) {
            ("resourceVersion", Value::String(version)) => json!(self.revisions.placeholder(&version, snapshot)),
            ("continue", Value::String(token)) if !token.is_empty() => json!(self.number("continue", &token)),
            ("etag", Value::String(tag)) => json!(self.number("etag", &tag)),
            ("last-modified", Value::String(_)) => json!("<time>"),
            ("token", Value::String(token)) if !self.source.contains(&token) => json!(self.number("token", &token)),
            ("serverAddress", Value::String(_)) => json!("<server-address>"),
            ("port", Value::Number(port)) if port.as_u64().is_some_and(|port| self.ports.contains_key(&port)) => {
                json!(port.as_u64().and_then(|port| self.ports.get(&port)))
            }
            ("nodePort" | "healthCheckNodePort", Value::Number(port)) if !self.source.contains(&port.to_string()) => {
                json!(self.text(&port.to_string()))
            }
            // The hash depends on the group, which is different in every run.
            ("storageVersionHash", Value::String(hash)) if self.source.contains("CustomResourceDefinition") => {
                json!(self.number("storage-version-hash", &hash))
            }
            ("cells", Value::Array(cells)) => {
                let cells = cells
                    .into_iter()
                    .map(|cell| if is_young(&cell) { json!("<age>") } else { cell });
                self.value(cells.collect(), snapshot)
            }
            ("managedFields", Value::Array(mut entries)) if !self.timed => {
                entries.sort_by_cached_key(seconds::untimed);
                self.value(Value::Array(entries), snapshot)
            }
            // The real server collects the rules from bindings in random order.
            ("resourceRules" | "nonResourceRules", Value::Array(mut rules)) => {
                rules.sort_by_cached_key(Value::to_string);
                self.value(Value::Array(rules), snapshot)
            }
            ("causes", Value::Array(causes)) => self.value(Value::Array(ordered(causes)), snapshot),
            (_, value) => self.value(value, snapshot),
        }
    }

    fn text(&mut self, text: &str) -> String {
        let text = self.revisions.in_text(text);
        self.texts.normalise(&text, self.numbered.entry("uid").or_default())
    }

    fn number(&mut self, kind: &'static str, value: &str) -> String {
        let seen = self.numbered.entry(kind).or_default();
        format!("<{kind}-{}>", position(seen, value))
    }
}

/// The ports among the addresses of the webhook process.
fn ports(places: &[(String, String)]) -> BTreeMap<u64, String> {
    let ports = places.iter().filter_map(|(place, placeholder)| {
        let port = place.strip_prefix(':')?.parse().ok()?;
        Some((port, placeholder.trim_start_matches(':').to_owned()))
    });
    ports.collect()
}

/// Whether a cell of a Table is the age of an object that the case itself created.
fn is_young(cell: &Value) -> bool {
    let seconds = cell.as_str().and_then(|age| age.strip_suffix('s'));
    seconds.is_some_and(|seconds| seconds.len() < 3 && seconds.parse::<u8>().is_ok())
}

/// Sorts the conflicts of an apply, since the real server goes through the managers of an object in random order.
fn ordered(mut causes: Vec<Value>) -> Vec<Value> {
    if causes.iter().all(|cause| cause["reason"] == "FieldManagerConflict") {
        causes.sort_by_cached_key(|cause| format!("{} {}", cause["field"], cause["message"]));
    }
    causes
}

/// The number of a value among those seen, counted from one. A new value is added.
fn position(seen: &mut Vec<String>, value: &str) -> usize {
    if let Some(index) = seen.iter().position(|known| known == value) {
        return index + 1;
    }
    seen.push(value.to_owned());
    seen.len()
}

#[cfg(test)]
mod tests;
