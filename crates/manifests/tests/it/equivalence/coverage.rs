//! Nothing is forgotten: every marker that controller-gen knows is used in the Go types, with each of its arguments, and every
//! recorded definition has its kind in Rust.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::Value;

use super::{capabilities, options, recorded, rendered};

/// A comment `+name…` in the Go types, and where it stands.
struct Used {
    on_field: bool,
    text: String,
}

fn used(folder: &Path, found: &mut Vec<Used>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            used(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "go") {
            for line in fs::read_to_string(&path).unwrap().lines() {
                if let Some((before, marker)) = line.split_once("// +") {
                    found.push(Used {
                        on_field: before == "\t",
                        text: marker.to_owned(),
                    });
                }
            }
        }
    }
}

impl Used {
    fn is(&self, target: &str, name: &str) -> bool {
        let rest = self.text.strip_prefix(name);
        (target == "field") == self.on_field && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with([':', '=']))
    }

    fn has(&self, argument: &str) -> bool {
        // What Kubernetes' own default is given is not named.
        argument == "value"
            || self.text.contains(&format!(":{argument}="))
            || self.text.contains(&format!(",{argument}="))
    }
}

/// Markers that cannot be used.
const REFUSED: [&str; 1] = ["field k8s:enum"];

#[test]
fn every_marker_of_controller_gen_is_used() {
    let mut found = Vec::new();
    used(&recorded::home().join("go"), &mut found);
    let known = fs::read_to_string(recorded::home().join("expected/markers.txt")).unwrap();
    let mut missing = Vec::new();
    // A rule of items is a rule: its arguments are those of all rules.
    let arguments_of = |name: &str| name.replace(":items:", ":");
    for line in known.lines().filter(|line| !REFUSED.contains(line)) {
        let mut words = line.split(' ');
        let (target, name) = (words.next().unwrap(), words.next().unwrap());
        if !found.iter().any(|used| used.is(target, name)) {
            missing.push(format!("{target} {name}"));
        }
        let name = arguments_of(name);
        for argument in words {
            let on_any = |used: &&Used| used.is("field", &name) || used.is("type", &name);
            if !found.iter().filter(on_any).any(|used| used.has(argument)) {
                missing.push(format!("{target} {name} {argument}="));
            }
        }
    }
    assert!(known.lines().count() > 100, "the recorded list is whole");
    assert_eq!(missing, Vec::<String>::new());
}

#[test]
fn every_recorded_definition_has_its_kind() {
    let names = |documents: &[Value]| -> BTreeSet<String> {
        let names = documents
            .iter()
            .filter_map(|document| document["metadata"]["name"].as_str());
        names.map(str::to_owned).collect()
    };
    for set in capabilities::SETS {
        let all = capabilities::all();
        let of_set = all.iter().filter(|capability| capability.set == set);
        let ours: Vec<Value> = of_set
            .flat_map(|capability| rendered(&capability.operator, &options()))
            .collect();
        assert_eq!(names(&ours), names(&recorded::set(set)), "{set}");
    }
}

#[test]
fn everything_was_recorded_with_the_pinned_controller_gen() {
    let modules = fs::read_to_string(recorded::home().join("go/tools.mod")).unwrap();
    let pinned = modules
        .lines()
        .find_map(|line| line.split_once("sigs.k8s.io/controller-tools "));
    let version = pinned.and_then(|(_, rest)| rest.split(' ').next());
    for definition in capabilities::SETS.iter().flat_map(|set| recorded::set(set)) {
        let annotations = &definition["metadata"]["annotations"];
        let found = annotations["controller-gen.kubebuilder.io/version"].as_str();
        assert_eq!(found, version, "{}", definition["metadata"]["name"]);
    }
}
