//! The table of admission plugins: each that `kube-apiserver --help` lists has its row, with its default and with recorded cases.
//! `recorded/admission-plugins.txt` is from `--enable-admission-plugins` of that help.

use std::collections::BTreeSet;
use std::fs;

use kubewright_test_support::book::root;

/// The plugins of a line of the recording.
fn recorded(which: &str) -> BTreeSet<String> {
    let text = include_str!("../recorded/admission-plugins.txt");
    let line = text.lines().find_map(|line| line.strip_prefix(which));
    let names = line
        .expect("a line of the recording")
        .trim_start_matches(": ")
        .split(", ");
    names.map(str::to_owned).collect()
}

/// The rows of the table: plugins, what they are here, where their cases are.
fn rows() -> Vec<[String; 3]> {
    let text = fs::read_to_string(root().join("src/quotas-and-pod-security.md")).unwrap();
    let (_, table) = text
        .split_once("| plugin | here | recorded cases | |\n")
        .expect("the table");
    let lines = table.lines().skip(1).take_while(|line| line.starts_with('|'));
    let cell = |line: &str, at: usize| line.split('|').nth(at).unwrap_or_default().trim().to_owned();
    lines.map(|line| [1, 2, 3].map(|at| cell(line, at))).collect()
}

#[test]
fn every_plugin_of_the_real_server_has_its_row_with_its_default() {
    let mut listed = BTreeSet::new();
    for [names, here, _] in rows() {
        for name in names.split(", ") {
            assert!(listed.insert(name.to_owned()), "{name} has two rows");
            let is_on_there = recorded("on").contains(name);
            let fits = match here.as_str() {
                "on" | "inert" => is_on_there,
                // As in Go's envtest.
                "off" => !is_on_there || name == "ServiceAccount",
                "no" => !is_on_there,
                _ => false,
            };
            assert!(fits, "{name} is {here:?} here");
        }
    }
    assert_eq!(
        listed,
        recorded("all"),
        "the table (left) and kube-apiserver (right) differ"
    );
}

#[test]
fn every_plugin_that_does_something_has_recorded_cases() {
    let all = root().join("../conformance/cases");
    let of_flags = root().join("../crates/cli/tests/it/envtest/recorded");
    for [names, here, cases] in rows() {
        let cases = cases.trim_matches('`');
        let places = [all.join("admission").join(cases), all.join(cases), of_flags.join(cases)];
        let is_there = places.iter().any(|place| {
            let file = place.with_extension("recorded.json");
            place.is_dir() || file.is_file()
        });
        let does_something = matches!(here.as_str(), "on" | "off");
        assert_eq!(
            is_there && !cases.is_empty() && cases != "–",
            does_something,
            "{names}: {cases}"
        );
    }
}
