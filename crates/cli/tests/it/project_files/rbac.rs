//! `kubewright rbac check`.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::project::{Outcome, Project, shop};

/// What a test run writes down: what the operator does, and one thing more.
fn audit(more: &[Value]) -> String {
    let request = |verb: &str, group: &str, resource: &str| {
        json!({ "version": 1, "operator": "shop", "test": "t", "verb": verb, "group": group, "resource": resource,
                "namespace": "default", "name": "web", "allowed": true, "count": 1 })
    };
    let mut lines: Vec<Value> = ["get", "list", "watch"]
        .map(|verb| request(verb, "", "configmaps"))
        .into();
    lines.push(request("create", "apps", "deployments"));
    lines.push(request("patch", "apps", "deployments"));
    lines.extend(more.iter().cloned());
    lines.iter().fold(String::new(), |mut text, line| {
        let _ = writeln!(text, "{line}");
        text
    })
}

fn refused() -> Value {
    json!({ "version": 1, "operator": "shop", "test": "t", "verb": "delete", "group": "batch", "resource": "jobs",
            "namespace": "default", "name": "old", "allowed": false, "count": 4 })
}

#[test]
fn rights_that_fit_are_told_so() {
    let project = Project::new(&shop());
    project.write("audit.jsonl", &audit(&[]));
    let path = project.path("audit.jsonl").display().to_string();
    let outcome = project.run(&["rbac", "check", "--audit", &path]).succeeded();
    assert!(outcome.out.contains("shop has the rights it used"), "{}", outcome.out);
}

#[test]
fn what_was_refused_is_told_with_the_line_to_add_and_what_is_idle_too() {
    let project = Project::new(&shop());
    let text = audit(&[refused()]).replace("\"patch\"", "\"create\"");
    project.write("audit/a.jsonl", &text);
    let path = project.path("audit").display().to_string();
    let outcome = project.run(&["rbac", "check", "--audit", &path]).failed();
    let attribute = r#"#[rbac(groups = "batch", resources = "jobs", verbs = "delete")]"#;
    assert!(outcome.out.contains(attribute), "{}", outcome.out);
    assert!(
        outcome.out.contains("never used: patch of deployments.apps"),
        "{}",
        outcome.out
    );
    let outcome = project.run(&["rbac", "check", "--audit", &path, "-o", "json"]).failed();
    let data: Value = serde_json::from_str(&outcome.out).unwrap();
    assert_eq!(data["denied"][0]["attribute"], attribute);
    assert_eq!(data["unused"][0]["origin"], "Written");
}

#[test]
fn without_an_audit_the_tests_are_run_and_write_one() {
    let project = Project::new(&shop());
    project.write("lines", &audit(&[refused()]));
    let path = format!("{}:/usr/bin:/bin", project.path("bin").display());
    let check = |arguments: &[&str]| {
        let arguments = [&["rbac", "check"], arguments].concat();
        Outcome::of(project.command(&arguments).env("PATH", &path).output().unwrap())
    };
    let lines = project.path("lines").display().to_string();
    project.script(
        "bin/cargo",
        &format!("echo \"cargo $*\"; cp {lines} \"$KUBEWRIGHT_AUDIT/shop-1-0.jsonl\""),
    );
    let outcome = check(&["--", "--test", "cart"]).failed();
    assert!(outcome.err.contains("cargo test --test cart"), "{}", outcome.err);
    assert!(
        outcome.out.starts_with("repeatedly denied") || outcome.out.starts_with("once denied"),
        "{}",
        outcome.out
    );
    project.script("bin/cargo", "exit 0");
    let outcome = check(&[]).failed();
    assert!(
        outcome.err.contains("TestEnv::start(shop::operator())"),
        "{}",
        outcome.err
    );
    project.write("lines", &audit(&[]));
    project.script(
        "bin/cargo",
        &format!("cp {lines} \"$KUBEWRIGHT_AUDIT/shop-1-0.jsonl\"; exit 101"),
    );
    let outcome = check(&[]).failed();
    assert!(outcome.err.contains("the tests failed"), "{}", outcome.err);
}

#[test]
fn an_audit_of_others_or_none_at_all_is_an_error() {
    let project = Project::new(&shop());
    project.write("audit.jsonl", &audit(&[]).replace("\"shop\"", "\"bank\""));
    let path = project.path("audit.jsonl").display().to_string();
    let outcome = project.run(&["rbac", "check", "--audit", &path]).failed();
    assert!(outcome.err.contains("no request of shop"), "{}", outcome.err);
    project.write("audit.jsonl", "hello\n");
    let outcome = project.run(&["rbac", "check", "--audit", &path]).failed();
    assert!(outcome.err.contains("line 1"), "{}", outcome.err);
    let outcome = project.run(&["rbac", "check", "--audit", "/no/such/file"]).failed();
    assert!(outcome.err.contains("/no/such/file"), "{}", outcome.err);
}
