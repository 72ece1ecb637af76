//! The tree is what it was.

use std::fmt::Write as _;

use super::operators::cases;
use super::tree::tree;

/// The others differ in what these have.
const KEPT: [&str; 8] = [
    "empty",
    "plain",
    "policies",
    "conversion",
    "all-switches",
    "grafana",
    "namespaced",
    "multigroup",
];

#[test]
fn a_tree_is_what_it_was() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/testdata/config");
    for case in cases().iter().filter(|case| KEPT.contains(&case.name)) {
        let mut text = String::new();
        for (path, content) in tree(case) {
            if path.starts_with("config/") || path.starts_with("grafana/") {
                let _ = writeln!(text, "===== {path}\n{content}");
            }
        }
        let golden = folder.join(format!("{}.txt", case.name));
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            std::fs::write(&golden, &text).unwrap();
        }
        let expected = std::fs::read_to_string(&golden).unwrap();
        assert_eq!(
            text, expected,
            "{}: run with UPDATE_GOLDEN=1 if this is meant",
            case.name
        );
    }
}
