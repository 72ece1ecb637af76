//! What a manager asked for, written down for others.

use std::process::Command;

use serde_json::Value;

/// Runs a test of this file again with a variable that only it shall see.
fn run_again(test: &str, folder: &std::path::Path) -> bool {
    let done = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test])
        .env("KUBEWRIGHT_AUDIT", folder)
        .output();
    done.unwrap().status.success()
}

#[test]
fn every_request_of_the_manager_is_in_a_file_with_its_test() {
    let folder = tempfile::tempdir().unwrap();
    let test = "objects::a_sample_is_accepted_and_reconciled";
    assert!(run_again(test, folder.path()));
    let files: Vec<_> = std::fs::read_dir(folder.path()).unwrap().collect();
    assert_eq!(files.len(), 1);
    let written = std::fs::read_to_string(files[0].as_ref().unwrap().path()).unwrap();
    let lines: Vec<Value> = written
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let asked = |verb: &str, resource: &str| {
        let is_it = |line: &&Value| line["verb"] == verb && line["resource"] == resource && line["allowed"] == true;
        lines.iter().find(is_it).cloned()
    };
    let status = asked("update", "gardens/status").unwrap();
    assert_eq!(
        (&status["group"], &status["name"], &status["operator"], &status["test"]),
        (&"example.com".into(), &"roses".into(), &"garden".into(), &test.into())
    );
    assert!(asked("list", "configmaps").is_some() || asked("watch", "configmaps").is_some());
    assert!(asked("delete", "gardens").is_none());
}

#[test]
fn what_was_refused_is_in_it_too() {
    let folder = tempfile::tempdir().unwrap();
    assert!(run_again(
        "failures::a_missing_rule_fails_the_test_at_once_and_names_the_attribute",
        folder.path()
    ));
    let file = std::fs::read_dir(folder.path()).unwrap().next().unwrap().unwrap();
    let text = std::fs::read_to_string(file.path()).unwrap();
    let refused = text.lines().filter(|line| line.contains("\"allowed\":false"));
    let refused: Vec<Value> = refused.map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(refused.len(), 1);
    assert_eq!(
        (&refused[0]["verb"], &refused[0]["resource"]),
        (&"update".into(), &"gardens/status".into())
    );
}
