//! Replaces values inside texts: uids, times, generated names, and names that the runner itself chose.

use std::net::IpAddr;
use std::sync::LazyLock;

use regex::{Captures, NoExpand, Regex};
use serde_json::Value;

use super::position;
use crate::run::PlayedCase;

static UID: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}").expect("the pattern is valid")
});
static TIME: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?Z").expect("the pattern is valid")
});

/// A time as Go prints it.
static GO_TIME: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2} \+0000 UTC").expect("the pattern is valid")
});

/// The local address of a connection in Go's errors.
static CLIENT_PORT: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"127\.0\.0\.1:[0-9]+->").expect("the pattern is valid"));

/// The name of the type of `self` in messages about CEL rules. Its number is a time.
static SELF_TYPE: LazyLock<Regex> = LazyLock::new(|| Regex::new("selfType[0-9]+").expect("the pattern is valid"));

/// The hash in the address of an `OpenAPI` document, which differs because the document has names that differ.
static DOCUMENT_HASH: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\?hash=[0-9A-F]+").expect("the pattern is valid"));

static BASE: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r#"generateName: "?([A-Za-z0-9._-]+)"#).expect("the pattern is valid"));

/// How often a character may be repeated before the repetition is replaced by its length.
const LONGEST_RUN: usize = 100;

/// How many characters the server adds to a generateName (M2).
const GENERATED: usize = 5;

/// The texts of a run, with their placeholders.
pub(super) struct Texts {
    source: String,
    namespace: String,
    unique: String,
    /// The unique text as `OpenAPI` has it in the names of operations and tags: `UniqueXabc`, `uniqueXabc`.
    camel: String,
    /// Addresses and certificates of the webhook process, with their placeholders.
    places: Vec<(String, String)>,
    /// Generated names, allocated addresses and ports, with their placeholders.
    made_up: Vec<(Regex, String)>,
}

impl Texts {
    pub(super) fn collect(steps: &Value, source: &str, played: &PlayedCase) -> Self {
        let mut generated = Vec::new();
        find_generated(steps, &mut generated);
        for base in BASE.captures_iter(source) {
            find_made_from(&base[1], steps, &mut generated);
        }
        let names = generated.into_iter().enumerate().map(|(index, (base, name))| {
            let placeholder = format!("{base}<generated-{}>", index + 1);
            (name, placeholder)
        });
        let mut allocated = Allocated::default();
        allocated.find(steps, source);
        let words = names
            .chain(numbered(allocated.addresses, "ip"))
            .chain(numbered(allocated.ports, "node-port"));
        let made_up = words
            .filter_map(|(word, placeholder)| Some((whole(&word)?, placeholder)))
            .collect();
        Self {
            source: source.to_owned(),
            namespace: played.namespace.clone(),
            unique: played.unique.clone(),
            places: played.places.clone(),
            camel: played.unique.split('-').map(capitalised).collect(),
            made_up,
        }
    }

    pub(super) fn normalise(&self, text: &str, uids: &mut Vec<String>) -> String {
        let mut text = text.to_owned();
        for (place, placeholder) in &self.places {
            if text.contains(place.as_str()) {
                text = text.replace(place.as_str(), placeholder);
            }
        }
        if text.contains("->") {
            text = CLIENT_PORT.replace_all(&text, NoExpand("<client>->")).into_owned();
        }
        text = UID
            .replace_all(&text, |found: &Captures<'_>| {
                let uid = &found[0];
                if self.source.contains(uid) {
                    uid.to_owned()
                } else {
                    format!("<uid-{}>", position(uids, uid))
                }
            })
            .into_owned();
        text = TIME
            .replace_all(&text, |found: &Captures<'_>| {
                let placeholder = if found.get(1).is_some() {
                    "<micro-time>"
                } else {
                    "<time>"
                };
                if self.source.contains(&found[0]) {
                    found[0].to_owned()
                } else {
                    placeholder.to_owned()
                }
            })
            .into_owned();
        if text.contains(" +0000 UTC") {
            text = GO_TIME.replace_all(&text, NoExpand("<time>")).into_owned();
        }
        if text.contains("selfType") {
            text = SELF_TYPE.replace_all(&text, NoExpand("selfType<number>")).into_owned();
        }
        if text.contains("?hash=") {
            text = DOCUMENT_HASH.replace_all(&text, NoExpand("?hash=<hash>")).into_owned();
        }
        for (word, placeholder) in &self.made_up {
            if word.is_match(&text) {
                text = word.replace_all(&text, NoExpand(placeholder)).into_owned();
            }
        }
        text = text
            .replace(&self.namespace, "<ns>")
            .replace(&self.unique, "<unique>")
            .replace(&self.camel, "<Unique>")
            .replace(&uncapitalised(&self.camel), "<unique>");
        shortened(&text)
    }
}

fn uncapitalised(word: &str) -> String {
    let mut letters = word.chars();
    letters
        .next()
        .map(|first| first.to_ascii_lowercase().to_string() + letters.as_str())
        .unwrap_or_default()
}

fn capitalised(word: &str) -> String {
    let mut letters = word.chars();
    letters
        .next()
        .map(|first| first.to_ascii_uppercase().to_string() + letters.as_str())
        .unwrap_or_default()
}

/// A pattern for a whole word, which does not find 10.0.0.1 in 10.0.0.12.
fn whole(word: &str) -> Option<Regex> {
    Regex::new(&format!(r"\b{}\b", regex::escape(word))).ok()
}

fn numbered(words: Vec<String>, kind: &'static str) -> impl Iterator<Item = (String, String)> {
    words
        .into_iter()
        .enumerate()
        .map(move |(index, word)| (word, format!("<{kind}-{}>", index + 1)))
}

/// The addresses and ports that a server allocated to Services, in order of appearance.
#[derive(Default)]
struct Allocated {
    addresses: Vec<String>,
    ports: Vec<String>,
}

impl Allocated {
    fn find(&mut self, value: &Value, source: &str) {
        match value {
            Value::Object(fields) => {
                for (key, value) in fields {
                    match (key.as_str(), value) {
                        ("clusterIP", Value::String(ip)) if ip.parse::<IpAddr>().is_ok() && !source.contains(ip) => {
                            position(&mut self.addresses, ip);
                        }
                        ("nodePort" | "healthCheckNodePort", Value::Number(port)) => {
                            let port = port.to_string();
                            if !source.contains(&port) {
                                position(&mut self.ports, &port);
                            }
                        }
                        (_, value) => self.find(value, source),
                    }
                }
            }
            Value::Array(items) => items.iter().for_each(|item| self.find(item, source)),
            _ => {}
        }
    }
}

fn find_generated(value: &Value, found: &mut Vec<(String, String)>) {
    match value {
        Value::Object(fields) => {
            if let (Some(Value::String(base)), Some(Value::String(name))) =
                (fields.get("generateName"), fields.get("name"))
                && let Some((stem, _)) = name.split_at_checked(name.len().saturating_sub(GENERATED))
                && !stem.is_empty()
                && base.starts_with(stem)
                && !found.iter().any(|(_, known)| known == name)
            {
                found.push((stem.to_owned(), name.clone()));
            }
            fields.values().for_each(|value| find_generated(value, found));
        }
        Value::Array(items) => items.iter().for_each(|item| find_generated(item, found)),
        _ => {}
    }
}

/// Finds names generated from a base in texts, since messages about refused objects have such names, too.
fn find_made_from(base: &str, value: &Value, found: &mut Vec<(String, String)>) {
    match value {
        Value::Object(fields) => fields.values().for_each(|value| find_made_from(base, value, found)),
        Value::Array(items) => items.iter().for_each(|item| find_made_from(base, item, found)),
        Value::String(text) => {
            for (start, _) in text.match_indices(base) {
                let end = start + base.len() + GENERATED;
                let Some(name) = text.get(start..end) else { continue };
                let made_up = name[base.len()..]
                    .bytes()
                    .all(|byte| b"bcdfghjklmnpqrstvwxz2456789".contains(&byte));
                if made_up && !found.iter().any(|(_, known)| known == name) {
                    found.push((base.to_owned(), name.to_owned()));
                }
            }
        }
        _ => {}
    }
}

/// Shortens long repetitions of a character, so that transcripts stay readable: `xxx…` becomes `<x * 4000>`.
fn shortened(text: &str) -> String {
    if text.len() < LONGEST_RUN {
        return text.to_owned();
    }
    let mut short = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let run = rest.chars().take_while(|c| *c == first).count();
        let (same, other) = rest.split_at(run * first.len_utf8());
        if run >= LONGEST_RUN {
            short.extend(['<', first]);
            short.push_str(" * ");
            short.push_str(&run.to_string());
            short.push('>');
        } else {
            short.push_str(same);
        }
        rest = other;
    }
    short
}
