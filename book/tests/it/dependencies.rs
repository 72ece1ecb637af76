//! What the workspace is built of, held to deny.toml: the licence of every package is allowed there, and a package that is compiled in two
//! versions is named there. `cargo deny` reads the same file and looks for advisories too, but needs to be installed and the network.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn read(name: &str) -> String {
    std::fs::read_to_string(root().join(name)).unwrap()
}

/// The lines of a list of deny.toml, without its comments.
fn list<'a>(rules: &'a str, key: &str) -> Vec<&'a str> {
    rules
        .lines()
        .skip_while(|line| *line != format!("{key} = ["))
        .skip(1)
        .take_while(|line| *line != "]")
        .map(str::trim)
        .filter(|line| !line.starts_with('#'))
        .collect()
}

/// The string behind a key of an inline table: `1.0` of `version` in `{ name = "a", version = "1.0" }`.
fn value<'a>(table: &'a str, key: &str) -> &'a str {
    let (_, rest) = table
        .split_once(&format!("{key} = \""))
        .unwrap_or_else(|| panic!("{table} has no {key}"));
    rest.split('"').next().unwrap()
}

/// The licences that deny.toml allows.
fn allowed(rules: &str) -> BTreeSet<&str> {
    list(rules, "allow")
        .into_iter()
        .map(|line| line.trim_matches(['"', ',']))
        .collect()
}

/// What a command of cargo's prints about the workspace.
fn cargo(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO"))
        .args(arguments)
        .current_dir(root())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// The packages of other people that a build of the workspace on this machine needs, with their licences.
fn packages() -> Vec<(String, String)> {
    let about = cargo(&["version", "--verbose"]);
    let host = about.lines().find_map(|line| line.strip_prefix("host: ")).unwrap();
    // Packages for other platforms need not have been downloaded.
    let arguments = ["metadata", "--offline", "--format-version=1", "--filter-platform", host];
    let metadata: Value = serde_json::from_str(&cargo(&arguments)).unwrap();
    let needed: BTreeSet<&str> = metadata["resolve"]["nodes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|node| node["id"].as_str().unwrap())
        .collect();
    metadata["packages"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|package| !package["source"].is_null() && needed.contains(package["id"].as_str().unwrap()))
        .map(|package| {
            let text = |field: &str| package[field].as_str().unwrap_or_default().to_owned();
            (text("name"), text("license"))
        })
        .collect()
}

/// Whether a licence expression can be met with what is allowed. Old packages write `/` for `OR`.
fn is_met(expression: &str, allowed: &BTreeSet<&str>) -> bool {
    let spaced = expression
        .replace('/', " OR ")
        .replace('(', " ( ")
        .replace(')', " ) ")
        .replace(" WITH ", "_WITH_");
    let words: Vec<&str> = spaced.split(' ').filter(|word| !word.is_empty()).collect();
    let (met, rest) = any(&words, allowed);
    met && rest.is_empty()
}

/// Reads alternatives: whether one is met, and what is left of the words.
fn any<'a, 'b>(words: &'b [&'a str], allowed: &BTreeSet<&str>) -> (bool, &'b [&'a str]) {
    let (mut met, mut rest) = all(words, allowed);
    while let ["OR", after @ ..] = rest {
        let (other, after) = all(after, allowed);
        (met, rest) = (met || other, after);
    }
    (met, rest)
}

/// Reads what must be met together.
fn all<'a, 'b>(words: &'b [&'a str], allowed: &BTreeSet<&str>) -> (bool, &'b [&'a str]) {
    let (mut met, mut rest) = one(words, allowed);
    while let ["AND", after @ ..] = rest {
        let (other, after) = one(after, allowed);
        (met, rest) = (met && other, after);
    }
    (met, rest)
}

/// Reads a licence, or an expression in parentheses.
fn one<'a, 'b>(words: &'b [&'a str], allowed: &BTreeSet<&str>) -> (bool, &'b [&'a str]) {
    match words {
        ["(", inner @ ..] => match any(inner, allowed) {
            (met, [")", rest @ ..]) => (met, rest),
            (_, rest) => (false, rest),
        },
        [licence, rest @ ..] => (allowed.contains(licence.replace("_WITH_", " WITH ").as_str()), rest),
        [] => (false, words),
    }
}

#[test]
fn the_licence_of_every_package_is_allowed() {
    let rules = read("deny.toml");
    let allowed = allowed(&rules);
    let packages = packages();
    assert!(packages.len() > 150, "{packages:?}");
    let refused: Vec<_> = packages
        .iter()
        .filter(|(name, licence)| {
            let is_exception = rules.contains(&format!("{{ name = \"{name}\", allow = [\"{licence}\"] }}"));
            !is_exception && !is_met(licence, &allowed)
        })
        .collect();
    assert!(
        refused.is_empty(),
        "deny.toml allows none of these licences: {refused:?}"
    );
}

#[test]
fn a_package_in_two_versions_is_named_with_those_who_ask_for_it() {
    let (lock, rules) = (read("Cargo.lock"), read("deny.toml"));
    let mut versions: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for entry in lock.split("[[package]]").skip(1) {
        let (name, version) = (value(entry, "name"), value(entry, "version"));
        versions.entry(name).or_default().insert(version);
    }
    let named: BTreeSet<(&str, &str)> = list(&rules, "skip")
        .into_iter()
        .map(|entry| (value(entry, "name"), value(entry, "version").trim_start_matches('=')))
        .collect();
    for (name, version) in &named {
        let is_locked = versions
            .get(name)
            .is_some_and(|locked| locked.contains(version) && locked.len() > 1);
        assert!(is_locked, "{name} {version} is named in deny.toml without need");
    }
    for (name, locked) in versions {
        let rest: Vec<_> = locked
            .into_iter()
            .filter(|version| !named.contains(&(name, version)))
            .collect();
        assert!(
            rest.len() < 2,
            "{name} is there as {rest:?}: have one version, or name the older one in `skip` of deny.toml"
        );
    }
}

/// `cargo test --workspace` compiles a package again where procedural macros, or what their tests depend on, ask for other features of
/// it than the rest. The whole runtime was such a package.
#[test]
fn no_package_is_compiled_twice_with_different_features() {
    let listed = cargo(&[
        "tree",
        "--offline",
        "--workspace",
        "--duplicates",
        "--edges=normal,dev,build",
        "--prefix=none",
        "--depth=0",
    ]);
    let mut seen = BTreeSet::new();
    for package in listed.lines().filter(|line| !line.is_empty()) {
        let package = package.trim_end_matches(" (*)");
        // Of syn, `surface` needs less than procedural macros ask for together.
        assert!(
            seen.insert(package) || package.starts_with("syn "),
            "{package} is compiled twice; `cargo tree --workspace -d -e features` says for whom"
        );
    }
}

#[test]
fn a_choice_of_licences_needs_one_and_a_sum_needs_all() {
    let allowed = BTreeSet::from(["MIT", "ISC", "Apache-2.0 WITH LLVM-exception"]);
    for met in [
        "MIT",
        "GPL-3.0 OR MIT",
        "GPL-3.0/MIT",
        "MIT AND ISC",
        "(GPL-3.0 OR MIT) AND ISC",
        "Apache-2.0 WITH LLVM-exception OR GPL-3.0",
    ] {
        assert!(is_met(met, &allowed), "{met}");
    }
    for refused in [
        "",
        "GPL-3.0",
        "MIT AND GPL-3.0",
        "(MIT OR ISC) AND GPL-3.0",
        "Apache-2.0",
        "MIT ISC",
        "(MIT",
    ] {
        assert!(!is_met(refused, &allowed), "{refused}");
    }
}
