//! The generated files are those of the facts, and all kinds are in them.

#[path = "../../examples/generate_builders/facts.rs"]
mod facts;
#[path = "../../examples/generate_builders/names.rs"]
mod names;
#[path = "../../../kind-docs/examples/generate/package.rs"]
mod package;
#[path = "../../examples/generate_builders/render.rs"]
mod render;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use kubewright_schema::{Types, decode, resources};

use crate::kinds::every_kind;

/// Fails when the facts or the locked k8s-openapi change, until `cargo run -p kubewright-apply --example generate_builders` wrote the files anew.
#[test]
fn the_generated_files_are_those_of_the_facts() {
    let package = match package::find() {
        Ok(package) => package,
        Err(why) => return eprintln!("skipped: the sources of k8s-openapi are not at hand: {why}"),
    };
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    for (path, text) in render::generate(&package).unwrap() {
        let written = fs::read_to_string(folder.join(&path)).unwrap_or_default();
        let differs = written.lines().zip(text.lines()).find(|(one, other)| one != other);
        assert!(written == text, "{path}; the first line that differs: {differs:?}");
    }
}

#[test]
fn a_group_has_a_feature_that_brings_the_groups_it_needs() {
    let manifest = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml")).unwrap();
    let facade = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../kubewright/Cargo.toml")).unwrap();
    let all = manifest.split_once("\nall = [").unwrap().1.split_once(']').unwrap().0;
    for (group, needs) in render::needs() {
        let needs: Vec<String> = needs.iter().map(|group| format!("{group:?}")).collect();
        let line = format!("\n{group} = [{}]\n", needs.join(", "));
        assert!(manifest.contains(&line), "crates/apply/Cargo.toml lacks {line}");
        assert!(all.contains(&format!("\"{group}\"")), "the feature `all` lacks {group}");
        let line = format!("\napply-{group} = [\"kubewright-apply/{group}\"]\n");
        assert!(facade.contains(&line), "crates/kubewright/Cargo.toml lacks {line}");
    }
}

#[test]
fn every_kind_that_can_be_applied_has_a_builder_that_the_server_knows() {
    let every_kind = every_kind();
    let mut found = BTreeSet::new();
    for (name, value) in &every_kind {
        let (api_version, kind) = (value["apiVersion"].as_str().unwrap(), value["kind"].as_str().unwrap());
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let ty = Types::builtin()
            .kind(group, version, kind)
            .unwrap_or_else(|| panic!("the server has no {api_version} {kind}"));
        assert_eq!(ty.name(), Some(*name));
        let decoded = decode(ty, value.clone(), None).unwrap();
        assert!(decoded.unknown.is_empty(), "{name}: {:?}", decoded.unknown);
        found.insert((group, version, kind));
    }
    assert!(found.len() >= 60, "{}", found.len());
    let served = resources().iter().filter(|resource| resource.verbs.contains(&"patch"));
    for resource in served {
        let kind = (resource.group, resource.version, resource.kind);
        assert!(found.contains(&kind), "{kind:?} has no builder");
    }
}
