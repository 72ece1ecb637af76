//! Values of the wrong type are refused in the words of the real server. The golden file holds, in pairs of lines, a body
//! and what kube-apiserver 1.36 answered after `… cannot be handled as a …: `, or `accepted` where the types were fine.

use kubewright_schema::{Source, Types, decode};
use serde_json::Value;

use crate::support::{pairs, type_of};

static GOLDEN: &str = include_str!("../goldens/type-errors.txt");

/// Each body has at most one number that is no int64: its spelling is the one a message needs.
struct Spelling<'b>(&'b str);

impl Source for Spelling<'_> {
    fn literal(&self, _path: &str) -> Option<&str> {
        self.0
            .split([':', ',', '{', '}', '[', ']'])
            .find(|token| token.parse::<f64>().is_ok() && token.parse::<i64>().is_err())
    }

    fn positions(&self, paths: &[&str]) -> Vec<usize> {
        let key = |path: &str| format!("\"{}\"", path.rsplit('.').next().unwrap_or(path));
        paths
            .iter()
            .map(|path| self.0.find(&key(path)).unwrap_or(usize::MAX))
            .collect()
    }
}

#[test]
fn of_several_wrong_values_the_first_in_the_document_is_reported() {
    let body = r#"{"spec":{"hostNetwork":1,"containers":5},"metadata":{"labels":7}}"#;
    let ty = Types::builtin().kind("", "v1", "Pod").unwrap();
    let value: Value = serde_json::from_str(body).unwrap();
    let error = decode(ty, value.clone(), Some(&Spelling(body)))
        .unwrap_err()
        .to_string();
    assert!(error.contains("PodSpec.spec.hostNetwork"), "{error}");
    let error = decode(ty, value, None).unwrap_err().to_string();
    assert!(error.contains("ObjectMeta.metadata.labels"), "{error}");
}

#[test]
fn a_type_that_decodes_itself_ends_the_decoding_at_once() {
    let body = r#"{"metadata":{"labels":7,"creationTimestamp":"x"}}"#;
    let ty = Types::builtin().kind("", "v1", "Pod").unwrap();
    let error = decode(ty, serde_json::from_str(body).unwrap(), Some(&Spelling(body))).unwrap_err();
    assert_eq!(
        error.to_string(),
        r#"parsing time "x" as "2006-01-02T15:04:05Z07:00": cannot parse "x" as "2006""#
    );
}

#[test]
fn wrong_types_are_refused_in_the_words_of_the_real_server() {
    let mut different = Vec::new();
    let mut cases = 0;
    for (body, expected) in pairs(GOLDEN) {
        let value: Value = serde_json::from_str(body).unwrap();
        let ty = type_of(&value);
        let answer = match decode(ty, value, Some(&Spelling(body))) {
            Ok(_) => "accepted".to_owned(),
            Err(error) => error.to_string(),
        };
        cases += 1;
        if answer != expected {
            different.push(format!("{body}\n  real: {expected}\n  ours: {answer}"));
        }
    }
    assert!(
        different.is_empty(),
        "{} of {cases} differ:\n{}",
        different.len(),
        different.join("\n")
    );
}
