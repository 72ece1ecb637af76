//! `kubewright explore`, with a cargo and a test program that are scripts.

use serde_json::{Value, json};

use super::project::{Outcome, Project, shop};

/// A project whose test writes this outcome and ends as tests do then; what it was asked for is in `asked`.
fn project(outcome: Option<&Value>) -> Project {
    let is_good = outcome.is_some_and(|outcome| outcome["report"].is_null() && outcome["error"].is_null());
    project_that_ends(outcome, if is_good { "exit 0" } else { "exit 101" })
}

/// The same, whose test's program ends in this way.
fn project_that_ends(outcome: Option<&Value>, end: &str) -> Project {
    let project = Project::new(&shop());
    let program = project.path("program");
    let artifact = json!({
        "reason": "compiler-artifact", "target": { "kind": ["test"], "name": "explore" },
        "manifest_path": project.path("Cargo.toml"), "executable": program,
    });
    project.write("artifact", &format!("not JSON\n{artifact}\n"));
    let artifact = project.path("artifact").display().to_string();
    project.script("bin/cargo", &format!("echo \"cargo $*\" >&2; cat {artifact}"));
    let asked = project.path("asked").display().to_string();
    let written = match outcome {
        Some(outcome) => {
            project.write("outcome", &outcome.to_string());
            let from = project.path("outcome").display().to_string();
            format!("cp {from} \"$KUBEWRIGHT_EXPLORE_REPORT/explore-x.json\"")
        }
        None => "true".to_owned(),
    };
    project.script(
        "program",
        &format!(
            "env | grep ^KUBEWRIGHT_EXPLORE_ | sort > {asked}; pwd >> {asked}; echo progress >&2; {written}; {end}"
        ),
    );
    project
}

fn explore(project: &Project, arguments: &[&str]) -> Outcome {
    let path = format!("{}:/usr/bin:/bin", project.path("bin").display());
    let arguments = [&["explore"], arguments].concat();
    Outcome::of(project.command(&arguments).env("PATH", path).output().unwrap())
}

fn nothing_found() -> Value {
    json!({ "name": "explore-x", "report": null, "summary": "31 runs (2 restart, 29 crash), seed 7", "seconds": 1.5,
            "page": "/target/explore/explore-x.html", "findings": [] })
}

#[test]
fn nothing_found_is_told_with_what_was_tried() {
    let project = project(Some(&nothing_found()));
    let outcome = explore(
        &project,
        &["--time", "2m", "--seed", "7", "--jobs", "3", "--class", "crash,edits"],
    )
    .succeeded();
    assert_eq!(
        outcome.out,
        "nothing found in 31 runs (2 restart, 29 crash), seed 7, 1.5 s\n"
    );
    assert!(
        outcome.err.contains("/target/explore/explore-x.html"),
        "{}",
        outcome.err
    );
    assert!(
        outcome.err.contains("cargo test --no-run --test explore"),
        "{}",
        outcome.err
    );
    let asked = project.read("asked");
    for said in ["_CLASSES=crash,edits", "_JOBS=3", "_SEED=7", "_TIME=120"] {
        assert!(asked.contains(said), "{said} is not in {asked}");
    }
    assert!(!asked.contains("_REPLAY"), "{asked}");
}

#[test]
fn a_project_without_the_test_gets_it_and_keeps_its_own() {
    let project = project(Some(&nothing_found()));
    let outcome = explore(&project, &[]).succeeded();
    assert!(outcome.err.contains("tests/explore.rs was missing"), "{}", outcome.err);
    let written = project.read("tests/explore.rs");
    assert!(written.contains("explore(shop::operator)"), "{written}");
    project.write("tests/explore.rs", "// mine\n");
    let outcome = explore(&project, &[]).succeeded();
    assert!(!outcome.err.contains("was missing"), "{}", outcome.err);
    assert_eq!(project.read("tests/explore.rs"), "// mine\n");
}

#[test]
fn what_is_found_is_told_with_the_command_that_repeats_it() {
    let plan = "crash after create services/web-* #1 in step create cart of create cart";
    let found = json!({ "name": "explore-x", "summary": "3 runs", "seconds": 1.0, "findings": [{ "plan": plan }],
                        "report": format!("explore found 1 difference\n   again: .replay({plan:?})") });
    let project = project(Some(&found));
    let outcome = explore(&project, &["--replay", plan]).failed();
    assert_eq!(outcome.code, Some(1));
    assert_eq!(
        outcome.out,
        format!("explore found 1 difference\n   again: kubewright explore --replay '{plan}'\n")
    );
    assert!(project.read("asked").contains(&format!("_REPLAY={plan}")));
    let outcome = explore(&project, &["-o", "json"]).failed();
    let data: Value = serde_json::from_str(&outcome.out).unwrap();
    assert_eq!(data["explorations"][0]["findings"][0]["plan"], plan);
}

#[test]
fn what_cannot_be_explored_is_another_exit_code() {
    let error = json!({ "name": "explore-x", "error": "config/samples has no sample to explore" });
    let outcome = explore(&project(Some(&error)), &[]);
    assert_eq!(outcome.code, Some(2));
    assert!(outcome.out.contains("has no sample to explore"), "{}", outcome.out);
    let outcome = explore(&project(None), &[]);
    assert_eq!(outcome.code, Some(2));
    assert!(
        outcome.err.contains("tests/explore.rs explored nothing"),
        "{}",
        outcome.err
    );
    let project = project(None);
    project.script("bin/cargo", "exit 101");
    let outcome = explore(&project, &[]);
    assert_eq!(outcome.code, Some(2));
    assert!(
        outcome.err.contains("tests/explore.rs does not build"),
        "{}",
        outcome.err
    );
}

#[test]
fn a_test_that_is_killed_is_no_success_whatever_it_had_told() {
    for (outcome, end) in [(None, "kill -9 $$"), (Some(nothing_found()), "kill -9 $$")] {
        let told = explore(&project_that_ends(outcome.as_ref(), end), &[]);
        assert_eq!(told.code, Some(2));
        let said = "tests/explore.rs was ended before it was through (signal: 9 (SIGKILL))";
        assert!(told.err.contains(said), "{}", told.err);
        assert!(told.err.contains("try fewer `--jobs`"), "{}", told.err);
        // What was explored until then is told.
        assert_eq!(
            told.out.contains("nothing found in 31 runs"),
            outcome.is_some(),
            "{}",
            told.out
        );
    }
    let told = explore(&project_that_ends(None, "kill -15 $$"), &[]);
    assert_eq!(told.code, Some(2));
    assert!(
        told.err.contains("SIGTERM") && !told.err.contains("--jobs"),
        "{}",
        told.err
    );
}

#[test]
fn a_test_that_fails_for_its_own_reasons_is_no_success() {
    let told = explore(&project_that_ends(Some(&nothing_found()), "exit 101"), &[]);
    assert_eq!(told.code, Some(2));
    assert!(
        told.err.contains("`cargo test --test explore` shows why"),
        "{}",
        told.err
    );
    assert!(told.out.contains("nothing found in 31 runs"), "{}", told.out);
}
