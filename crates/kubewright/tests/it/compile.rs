//! What the compiler makes of code that uses the attributes, where `kubewright` is the only crate in sight.
//!
//! The sources in `tests/compile/` go through the compiler alone, against the `kubewright` that cargo built for this test: a crate of
//! their own would need all dependencies a second time.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

/// Where cargo puts what it builds.
fn built() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    test.parent().unwrap().to_owned()
}

/// The compiler's answer for a source, given one build of `kubewright`.
fn compile(source: &Path, library: &Path) -> Output {
    let name = source.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let out = built().join(format!("compile-{}-{name}", std::process::id()));
    fs::create_dir_all(&out).unwrap();
    let mut library_argument = std::ffi::OsString::from("kubewright=");
    library_argument.push(library);
    let answer = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()))
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/compile"))
        .args([
            "--edition=2024",
            "--crate-type=lib",
            "--emit=metadata",
            "-Dwarnings",
            "--color=never",
            "--out-dir",
        ])
        .arg(&out)
        .arg("--extern")
        .arg(library_argument)
        .arg("-L")
        .arg(format!("dependency={}", built().display()))
        .arg(source)
        .output();
    fs::remove_dir_all(&out).unwrap();
    answer.unwrap()
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The newest build of `kubewright` that goes with the dependencies as they are: there may be older ones.
fn library() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let files = fs::read_dir(built())
            .unwrap()
            .filter_map(|file| Some(file.ok()?.path()));
        let mut builds: Vec<PathBuf> = files
            .filter(|path| {
                let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
                name.starts_with("libkubewright-") && path.extension().is_some_and(|kind| kind == "rlib")
            })
            .collect();
        builds.sort_by_key(|path| fs::metadata(path).and_then(|data| data.modified()).ok());
        let mut said = String::new();
        let found = builds.into_iter().rev().find(|build| {
            let answer = compile(Path::new("nothing.rs"), build);
            said = text(&answer);
            answer.status.success()
        });
        found.unwrap_or_else(|| panic!("no build of kubewright goes with its dependencies: {said}"))
    })
}

/// Each error as `line:column: first line`.
fn errors(output: &str) -> Vec<String> {
    let mut errors = Vec::new();
    let mut message: Option<&str> = None;
    for line in output.lines() {
        if let Some(said) = line.strip_prefix("error") {
            message = said.split_once(": ").map(|(_, said)| said);
        } else if let (Some(said), Some((_, place))) = (message, line.split_once("--> mistakes.rs:")) {
            errors.push(format!("{place}: {said}"));
            message = None;
        }
    }
    errors
}

#[test]
fn an_operator_needs_no_crate_but_kubewright() {
    let answer = compile(Path::new("alone.rs"), library());
    assert!(answer.status.success(), "{}", text(&answer));
    // And no other crate is in sight.
    let answer = compile(Path::new("other_crates.rs"), library());
    assert!(!answer.status.success());
    for name in ["kube", "schemars", "serde", "serde_json", "k8s_openapi"] {
        let said = format!("can't find crate for `{name}`");
        assert!(text(&answer).contains(&said), "{name}: {}", text(&answer));
    }
}

#[test]
fn mistakes_are_told_where_they_are() {
    let answer = compile(Path::new("mistakes.rs"), library());
    let said = errors(&text(&answer));
    let expected =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/compile/mistakes.txt")).unwrap();
    let expected: Vec<&str> = expected.lines().collect();
    assert_eq!(said, expected, "{}", text(&answer));
}
