//! `walkthroughs/getting-started` is the chapter "Getting started" as one script, up to where the operator runs, and
//! `walkthroughs/cronjob` the two chapters of the `CronJob` tutorial. What the tutorial has its readers write is `examples/cronjob`.

use std::fmt::Write as _;
use std::fs;

use kubewright_test_support::book::{Chapter, Step, chapters, root};

/// A script that is made from chapters.
struct Walkthrough {
    script: &'static str,
    chapters: &'static [&'static str],
    /// What it begins with.
    head: &'static str,
    /// What it ends with.
    end: &'static str,
}

const GETTING_STARTED: Walkthrough = Walkthrough {
    script: "getting-started",
    chapters: &["getting-started.md"],
    head: r#"#!/usr/bin/env bash
# The chapter "Getting started" of the book as one script: from an empty folder to an operator with its tests and manifests. It needs Rust
# and the command `kubewright`. Made from book/src/getting-started.md: `UPDATE_GOLDEN=1 cargo test -p kubewright-book` writes it anew.
set -euo pipefail
"#,
    end: r#"
cat <<'END'

Next, in the folder website:
  make run ARGS="--embedded --samples"    # a cluster, the operator, and its sample; Ctrl-C stops it
END
"#,
};

const CRONJOB: Walkthrough = Walkthrough {
    script: "cronjob",
    chapters: &["cronjob.md", "cronjob-versions.md"],
    head: r"#!/usr/bin/env bash
# The chapters of the book on the CronJob tutorial as one script: from an empty folder to examples/cronjob. It needs Rust and the command
# `kubewright`. Made from book/src/cronjob.md and cronjob-versions.md: `UPDATE_GOLDEN=1 cargo test -p kubewright-book` writes it anew.
set -euo pipefail
",
    end: r#"
cat <<'END'

Next, in the folder cronjob:
  make run ARGS="--embedded --samples"    # a cluster, the operator, and its samples; Ctrl-C stops it
END
"#,
};

/// What a reader of a chapter does before the operator runs. The tests have the command already, and they do not run commands that only
/// Ctrl-C ends.
fn steps(chapter: &Chapter) -> Vec<Step<'_>> {
    let steps = chapter.steps().into_iter();
    let done = steps.take_while(|(section, _)| *section != "Run it");
    let done = done.filter(|(section, _)| *section != "Install the command");
    done.map(|(_, step)| step).collect()
}

fn script(walkthrough: &Walkthrough) -> String {
    let chapters = chapters();
    let mut script = walkthrough.head.to_owned();
    for name in walkthrough.chapters {
        let chapter = chapters.iter().find(|chapter| chapter.name == *name).unwrap();
        for step in steps(chapter) {
            if let Some(part) = step.script() {
                write!(script, "\n{part}").unwrap();
            }
        }
    }
    script + walkthrough.end
}

#[test]
fn the_scripts_do_what_the_chapters_say() {
    for walkthrough in [GETTING_STARTED, CRONJOB] {
        let name = walkthrough.script;
        let path = root().join("../walkthroughs").join(name);
        let script = script(&walkthrough);
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            fs::write(&path, &script).unwrap();
        }
        assert_eq!(
            script,
            fs::read_to_string(&path).unwrap_or_default(),
            "walkthroughs/{name} is not what the chapters say: UPDATE_GOLDEN=1 writes it anew"
        );
    }
}

/// The file that a command changes after the reader wrote it is compared by the test of `cli` that follows the chapters.
#[test]
fn what_the_tutorial_has_its_readers_write_is_the_example() {
    let changed_by_commands = "src/webhooks/v1/cron_job.rs";
    let (chapters, mut compared) = (chapters(), 0);
    for name in CRONJOB.chapters {
        let chapter = chapters.iter().find(|chapter| chapter.name == *name).unwrap();
        for step in steps(chapter) {
            let Step::Write { file, text } = step else { continue };
            if file == changed_by_commands {
                continue;
            }
            let example = fs::read_to_string(root().join("../examples/cronjob").join(&file)).unwrap_or_default();
            assert_eq!(text, example, "book/src/{name} and examples/cronjob/{file}");
            compared += 1;
        }
    }
    assert!(compared >= 7, "{compared}");
}
