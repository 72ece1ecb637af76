//! What chapters show of what commands print, beside what these really print.

use std::sync::LazyLock;

use regex::Regex;

/// What differs from one run or machine to the next, and what stands in its place in a comparison.
const CHANCE: [(&str, &str); 9] = [
    // Where a package is that Cargo compiles.
    (r"^( +Compiling \S+ v\S+) \(.+\)$", "$1 (FOLDER)"),
    // When it was, in a log.
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", "MOMENT"),
    // Who holds a Lease: the machine and a uid.
    (r#""[\w.-]+_[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}""#, "HOLDER"),
    // What Cargo puts behind the name of a program.
    (r"-[0-9a-f]{16}\b", "-HASH"),
    // The last part of a Pod's name, behind the hash of its template, in the letters of Kubernetes.
    (
        r"-([bcdfghjklmnpqrstvwxz2456789]{8,10})-[bcdfghjklmnpqrstvwxz2456789]{5}\b",
        "-$1-POD",
    ),
    (r"(https?://[\w.-]+):\d+", "$1:PORT"),
    (r"(/tmp/kubewright-)\w+", "${1}FOLDER"),
    (r"\b(linux|macos)/(x86_64|aarch64)\b", "PLATFORM"),
    // A duration or an age: 660ms, 1.08s, 2m10s. That of cargo stands behind a space and may have minutes: `in 1m 05s`.
    (r"\b(\d+m )?\d+(\.\d+)?(ms|µs|s|m|h|d)(\d+(s|m|h))?\b", "TIME"),
];

/// Lines that are printed only where something takes long, or beside other programs.
const PASSING: [&str; 4] = [
    // What is done takes so long that it is said before its end.
    r"^… ",
    // How far a rollout has come whenever one looks, and what holds it up.
    r"^ +\d+ of \d+ (new replicas made|replicas available)",
    r"^ +Blocking waiting for file lock",
    r"^• port \d+ is in use: ",
];

static CHANCES: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    let chances = CHANCE.into_iter();
    chances.map(|(pattern, instead)| (compiled(pattern), instead)).collect()
});

static PASSING_LINES: LazyLock<Vec<Regex>> = LazyLock::new(|| PASSING.into_iter().map(compiled).collect());

fn compiled(pattern: &str) -> Regex {
    Regex::new(pattern).expect("a pattern of ours")
}

/// A text without what is another one in the next run: see [`CHANCE`] and [`PASSING`]; and tests in the order of their names, since they
/// end in any order.
fn without_chance<'a>(lines: impl Iterator<Item = &'a str>) -> Vec<String> {
    let stays = |line: &&str| !PASSING_LINES.iter().any(|pattern| pattern.is_match(line));
    let mut lines: Vec<String> = lines
        .filter(stays)
        .map(|line| {
            CHANCES.iter().fold(line.to_owned(), |line, (pattern, instead)| {
                pattern.replace_all(&line, *instead).into_owned()
            })
        })
        .collect();
    let is_test = |line: &str| line.starts_with("test ") && line.ends_with(" ... ok");
    for tests in lines.chunk_by_mut(|one, next| is_test(one) && is_test(next)) {
        tests.sort_unstable();
    }
    lines
}

/// Where the lines that are shown of a command are not what it printed. They are all of it, in order, but for `…`, which stands for any
/// lines or none, and for what is different each time: durations, ports, hashes. Where nothing is shown, nothing is promised.
pub fn difference(shown: &[&str], printed: &str) -> Option<String> {
    if shown.is_empty() {
        return None;
    }
    let shown = without_chance(shown.iter().copied());
    let printed = without_chance(printed.trim_end().lines());
    let parts: Vec<&[String]> = shown.split(|line| line == "…").collect();
    let mut rest = printed.as_slice();
    for (index, part) in parts.iter().enumerate() {
        let last = rest.len().saturating_sub(part.len());
        // What nothing was left out before begins at once, and what nothing was left out after is the end.
        let mut places = match (index == 0, index + 1 == parts.len()) {
            (true, true) if rest.len() != part.len() => 0..0,
            (true, _) => 0..1,
            (false, true) if part.is_empty() => return None,
            (false, true) => last..last + 1,
            (false, false) => 0..last + 1,
        };
        let found = places.find(|place| rest[*place..].starts_with(part));
        let Some(found) = found else {
            let (part, rest) = (part.join("\n"), rest.join("\n"));
            return Some(format!("it shows\n{part}\nbut this was printed:\n{rest}"));
        };
        rest = &rest[found + part.len()..];
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_is_all_that_was_printed_but_for_what_is_left_out() {
        let printed = "a\nb\n\nc\nd\n";
        for shown in [
            &[][..],
            &["…"],
            &["a", "b", "", "c", "d"],
            &["a", "…", "d"],
            &["…", "b", "", "…"],
            &["a", "b", "…", "", "c", "…", "d"],
        ] {
            assert_eq!(difference(shown, printed), None, "{shown:?}");
        }
        for shown in [
            &["a"][..],
            &["a", "b", "", "c"],
            &["b", "…"],
            &["…", "c"],
            &["…", "a", "", "…"],
            &["a", "…", "b", "…", "b", "…"],
            &["…", "d", "…", "c", "…"],
            &["a", "b", "", "c", "d", "e"],
            &["…", "c", "d", "e"],
        ] {
            assert!(difference(shown, printed).is_some(), "{shown:?}");
        }
    }

    #[test]
    fn what_is_different_each_time_may_differ_and_nothing_else() {
        for (shown, printed) in [
            ("✓ Building the operator (660ms)", "✓ Building the operator (1m 04s)"),
            (
                "   Compiling web v0.1.0 (/home/me/web)",
                "   Compiling web v0.1.0 (/tmp/.tmpA/web)",
            ),
            ("web   2/2   2   2   19s", "web   2/2   2   2   2m3s"),
            (
                "• runs (embedded (https://127.0.0.1:36613))",
                "• runs (embedded (https://127.0.0.1:4))",
            ),
            (
                "  export KUBECONFIG=/tmp/kubewright-2FR0hS/kubeconfig",
                "  export KUBECONFIG=/tmp/kubewright-Ab1/kubeconfig",
            ),
            (
                "Running tests/a.rs (target/debug/deps/a-bff045445efda181)",
                "Running tests/a.rs (target/debug/deps/a-0000000000000000)",
            ),
            ("pod/web-6b68864c48-hq6cd   1/1", "pod/web-6b68864c48-z2z2z   1/1"),
            (
                r#"2026-11-16T15:40:45.940911Z  INFO leader identity="vm_8a1b0157-711c-464d-9bfb-9a8edd4728bd""#,
                r#"2027-01-01T00:00:00Z  INFO leader identity="a-b.c_00000000-711c-464d-9bfb-9a8edd4728bd""#,
            ),
            ("kubewright 0.1.0 (linux/x86_64)", "kubewright 0.1.0 (macos/aarch64)"),
        ] {
            assert_eq!(difference(&[shown], printed), None);
        }
        for (shown, printed) in [
            ("✓ Building the operator (660ms)", "✓ Building an operator (660ms)"),
            ("web   2/2   2   2   19s", "web   2/3   2   2   19s"),
            ("pod/web-6b68864c48-hq6cd   1/1", "pod/web-7b68864c48-hq6cd   1/1"),
            ("namespace/web-system created", "namespace/web-system unchanged"),
        ] {
            assert!(difference(&[shown], printed).is_some(), "{shown}");
        }
    }

    #[test]
    fn what_is_said_meanwhile_may_be_missing() {
        let printed = "… Installing\n✓ Installing: 14 objects (2.2s)\n  0 of 1 replicas available; pod/a: CreateContainerError\n• port 8081 is in use: probes are on 4\n";
        assert_eq!(difference(&["✓ Installing: 14 objects (192ms)"], printed), None);
        assert_eq!(difference(&["  0 of 1 new replicas made", "✓ done"], "✓ done"), None);
    }

    #[test]
    fn tests_may_end_in_any_order() {
        let shown = ["running 2 tests", "test b ... ok", "test a ... ok", "…"];
        assert_eq!(
            difference(&shown, "running 2 tests\ntest a ... ok\ntest b ... ok\n\nx"),
            None
        );
        assert!(difference(&shown, "running 2 tests\ntest a ... ok\ntest c ... ok\n").is_some());
    }
}
