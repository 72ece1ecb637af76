//! Strict decoding's complaints: unknown and duplicate fields, in the words and the order of upstream (W2).

use kubewright_apimachinery::go::quote;

use crate::Decoded;
use crate::json::{MAX_COMPLAINTS, positions};

/// The messages of a strict decoding, such as `unknown field "spec.x"`, in the order upstream reports them.
///
/// `unknown` are the paths of fields the type does not have; what a duplicate-aware decoder found below them is left
/// out, since upstream does not look into what it does not know. `document` is the JSON text that `decoded` was read
/// from; YAML has no document order (upstream sorts it on the way) and gives `None`.
pub fn complaints(decoded: &Decoded, unknown: &[String], document: Option<&[u8]>) -> Vec<String> {
    let unknown_paths: Vec<&str> = unknown.iter().map(String::as_str).collect();
    let duplicates = decoded.duplicates.iter().zip(&decoded.duplicate_positions);
    let mut found: Vec<(usize, &str, &str)> = duplicates
        .filter(|(path, _)| !unknown_paths.iter().any(|unknown| is_within(path, unknown)))
        .map(|(path, position)| (*position, "duplicate", path.as_str()))
        .collect();
    let positions = match document {
        Some(document) if found.len() + unknown.len() > 1 => positions(document, &unknown_paths),
        _ => vec![0; unknown.len()],
    };
    found.extend(
        unknown_paths
            .iter()
            .zip(positions)
            .map(|(path, position)| (position, "unknown", *path)),
    );
    found.sort_by_key(|(position, ..)| *position);
    let mut messages: Vec<String> = decoded.already_set.iter().cloned().collect();
    let worded = found.into_iter().take(MAX_COMPLAINTS);
    messages.extend(worded.map(|(_, what, path)| format!("{what} field {}", quote(path))));
    messages
}

/// The messages of a strict decoding without a type, which learns what is unknown only afterwards: duplicates first, then
/// the unknown fields in the order given.
pub fn untyped_complaints(decoded: &Decoded, unknown: &[String]) -> Vec<String> {
    let mut messages: Vec<String> = decoded.already_set.iter().cloned().collect();
    let duplicates = decoded.duplicates.iter().take(MAX_COMPLAINTS);
    messages.extend(duplicates.map(|path| format!("duplicate field {}", quote(path))));
    messages.extend(unknown.iter().map(|path| format!("unknown field {}", quote(path))));
    messages
}

/// The warnings that complaints become where they are tolerated: one for each, and one for each key that YAML sets twice.
pub fn warnings(complaints: Vec<String>) -> Vec<String> {
    let split = |complaint: String| match complaint.strip_prefix(ALREADY_SET) {
        Some(lines) => lines.split('\n').map(|line| line.trim().to_owned()).collect(),
        None => vec![complaint],
    };
    complaints.into_iter().flat_map(split).collect()
}

/// How upstream introduces the keys that a YAML document sets twice.
pub(crate) const ALREADY_SET: &str = "yaml: unmarshal errors:\n";

fn is_within(path: &str, ancestor: &str) -> bool {
    path.strip_prefix(ancestor)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json;

    fn messages(document: &str, unknown: &[&str]) -> Vec<String> {
        let unknown: Vec<String> = unknown.iter().map(ToString::to_string).collect();
        json::decode(document.as_bytes())
            .map(|decoded| complaints(&decoded, &unknown, Some(document.as_bytes())))
            .unwrap_or_default()
    }

    /// Recorded from the real server.
    #[test]
    fn complaints_follow_the_document() {
        let document = r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},
            "data":{"k":"1","k":"2","k":"3"},"x":{"q":1,"q":2},"metadata":{"labels":{"a":"b"}}, "aa":1}"#;
        assert_eq!(
            messages(document, &["aa", "x"]),
            [
                r#"duplicate field "data.k""#,
                r#"unknown field "x""#,
                r#"duplicate field "metadata""#,
                r#"unknown field "aa""#,
            ]
        );
    }

    #[test]
    fn paths_go_through_lists() {
        let document = r#"{"l":[{"z":1},{"z":1,"k":1,"k":2}],"l.z":{},"a":[[{"u":1}]]}"#;
        assert_eq!(
            messages(document, &["a[0][0].u", "l[0].z", "l[1].z", "l.z"]),
            [
                r#"unknown field "l[0].z""#,
                r#"unknown field "l[1].z""#,
                r#"duplicate field "l[1].k""#,
                r#"unknown field "l.z""#,
                r#"unknown field "a[0][0].u""#,
            ]
        );
    }
}
