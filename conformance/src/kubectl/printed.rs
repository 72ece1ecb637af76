//! Normalises what kubectl prints: replaces ages, dates, uids, versions, addresses and paths, which differ from run to run.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::LazyLock;

use regex::{Captures, NoExpand, Regex};

use super::script::Printed;

/// The patterns that are replaced by placeholders, in this order.
static RULES: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    let rules = [
        (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z", "<micro-time>"),
        (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", "<time>"),
        (r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d+)? \+0000( UTC)?", "<time>"),
        (
            r"[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d \+0000",
            "<date>",
        ),
        (r"X509SHA256=[0-9a-f]{64}", "X509SHA256=<fingerprint>"),
        (r#"(resourceVersion"?: ?"?)\d+"#, "${1}<rv>"),
        (r"(?m)^(\S.* {2,})(\d+[smhd]){1,2}$", "${1}<age>"),
        (r"(Resource Version:\s+)\d+", "${1}<rv>"),
        (r"/tmp/(LIVE|MERGED)-\d+", "/tmp/${1}-<number>"),
        (r"/tmp/kubectl-edit-\d+", "/tmp/kubectl-edit-<number>"),
        (r"(?m)^([EWI])\d{4} \d\d:\d\d:\d\d\.\d+ +\d+ ", "${1}<log> "),
        (r"(nodePort: |NodePort: +.*  )3[0-2]\d{3}", "${1}<node-port>"),
    ];
    let compiled = |(pattern, placeholder): &(&str, &'static str)| {
        (Regex::new(pattern).expect("the pattern is valid"), *placeholder)
    };
    rules.iter().map(compiled).collect()
});

static UID: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}").expect("the pattern is valid")
});
static ADDRESS: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\b10\.0\.0\.\d+\b").expect("the pattern is valid"));
static NODE_PORT: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\b(\d+):3\d{4}/").expect("the pattern is valid"));
static AGE: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\b(\d+[smhd]){1,2}\b").expect("the pattern is valid"));
static AGE_COLUMN: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?m)^.*\b(AGE|LAST SEEN|Age|DURATION)\b.*$").expect("the pattern is valid"));
static BLANKS: LazyLock<Regex> = LazyLock::new(|| Regex::new(r" {3,}").expect("the pattern is valid"));

/// Replaces the values of one run of a script.
pub(super) struct Normaliser {
    /// Texts of this run and their placeholders.
    words: Vec<(String, String)>,
    uids: Vec<String>,
    addresses: Vec<String>,
}

impl Normaliser {
    pub(super) fn new(server: &str, namespace: &str, unique: &str, folder: &Path) -> Normaliser {
        let host = server.trim_start_matches("https://").to_owned();
        Normaliser {
            words: vec![
                (folder.display().to_string(), "<folder>".to_owned()),
                (server.to_owned(), "<server>".to_owned()),
                (host, "<host>".to_owned()),
                (namespace.to_owned(), "<ns>".to_owned()),
                (unique.to_owned(), "<unique>".to_owned()),
            ],
            uids: Vec::new(),
            addresses: Vec::new(),
        }
    }

    /// Adds texts and their placeholders.
    pub(super) fn knowing(mut self, places: Vec<(String, String)>) -> Normaliser {
        self.words.extend(places);
        self
    }

    pub(super) fn text(&mut self, text: &str) -> String {
        let mut text = text.to_owned();
        for (word, placeholder) in &self.words {
            if !word.is_empty() {
                text = text.replace(word.as_str(), placeholder);
            }
        }
        text = numbered(&UID, &text, "uid", &mut self.uids);
        let is_table = text.starts_with("NAME") || text.contains("\nNAME ");
        let mut ragged = is_table && (ADDRESS.is_match(&text) || NODE_PORT.is_match(&text));
        text = numbered(&ADDRESS, &text, "ip", &mut self.addresses);
        text = NODE_PORT.replace_all(&text, "${1}:<node-port>/").into_owned();
        for (pattern, placeholder) in RULES.iter() {
            text = pattern.replace_all(&text, *placeholder).into_owned();
        }
        if let Some(header) = AGE_COLUMN.find(&text) {
            ragged |= !header.as_str().trim_end().ends_with("AGE");
            text = AGE.replace_all(&text, NoExpand("<age>")).into_owned();
        }
        if ragged {
            // The width of a column depends on its widest value, which may be one that was replaced.
            text = BLANKS.replace_all(&text, "   ").into_owned();
        }
        text
    }
}

fn numbered(pattern: &Regex, text: &str, kind: &str, seen: &mut Vec<String>) -> String {
    let number = |found: &Captures<'_>| {
        let value = &found[0];
        let position = seen.iter().position(|known| known == value).unwrap_or_else(|| {
            seen.push(value.to_owned());
            seen.len() - 1
        });
        format!("<{kind}-{}>", position + 1)
    };
    pattern.replace_all(text, number).into_owned()
}

/// The parts of two outputs of one command that are not equal, line by line.
pub(super) fn difference(expected: &Printed, actual: &Printed) -> String {
    let mut text = format!("  $ {}", expected.command);
    if expected.exit != actual.exit {
        let _ = write!(
            text,
            "\n    exit\n      - {:?}\n      + {:?}",
            expected.exit, actual.exit
        );
    }
    for (name, one, other) in [
        ("stdout", &expected.stdout, &actual.stdout),
        ("stderr", &expected.stderr, &actual.stderr),
    ] {
        if one != other {
            let _ = write!(text, "\n    {name}");
            text += &lines(one, other);
        }
    }
    text
}

/// The lines between the common beginning and the common end.
fn lines(one: &str, other: &str) -> String {
    const SHOWN: usize = 30;
    let (one, other): (Vec<_>, Vec<_>) = (one.lines().collect(), other.lines().collect());
    let begin = one.iter().zip(&other).take_while(|(a, b)| a == b).count();
    let end = one[begin..]
        .iter()
        .rev()
        .zip(other[begin..].iter().rev())
        .take_while(|(a, b)| a == b)
        .count();
    let mut text = String::new();
    for (sign, lines) in [
        ('-', &one[begin..one.len() - end]),
        ('+', &other[begin..other.len() - end]),
    ] {
        for line in lines.iter().take(SHOWN) {
            let _ = write!(text, "\n      {sign} {line}");
        }
        if lines.len() > SHOWN {
            let _ = write!(text, "\n      {sign} … and {} more lines", lines.len() - SHOWN);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn normaliser() -> Normaliser {
        Normaliser::new(
            "https://127.0.0.1:6443",
            "case-a",
            "unique-a",
            Path::new("/tmp/kubectl-x"),
        )
    }

    #[test]
    fn ages_and_the_columns_beside_them_are_levelled() {
        let text = "NAME   AGE     IMAGES\nweb    5m30s   nginx\n";
        assert_eq!(normaliser().text(text), "NAME   AGE   IMAGES\nweb   <age>   nginx\n");
    }

    #[test]
    fn only_a_table_has_ages() {
        assert_eq!(normaliser().text("timeout: 30s\n"), "timeout: 30s\n");
    }

    #[test]
    fn equal_uids_stay_equal() {
        let mut normaliser = normaliser();
        let uid = "11111111-2222-4333-8444-555555555555";
        assert_eq!(normaliser.text(uid), "<uid-1>");
        assert_eq!(normaliser.text("21111111-2222-4333-8444-555555555555"), "<uid-2>");
        assert_eq!(normaliser.text(uid), "<uid-1>");
    }

    #[test]
    fn what_belongs_to_the_run_is_named() {
        let text = "https://127.0.0.1:6443 case-a resourceVersion: \"17\" 2026-01-02T03:04:05Z";
        assert_eq!(
            normaliser().text(text),
            "<server> <ns> resourceVersion: \"<rv>\" <time>"
        );
    }
}
