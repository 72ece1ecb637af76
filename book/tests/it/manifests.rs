//! The YAML of the book: all of it parses, and the embedded API server accepts every object in it.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use kubewright::client::FieldValidation;
use kubewright::kube::core::DynamicObject;
use kubewright::mapper::RestMapper;
use kubewright::testing::{Controllers, Manifests, TestEnv};
use kubewright_test_support::book::{chapters, root};
use serde_json::Value;

/// An object of a chapter.
struct Shown {
    place: String,
    object: Value,
}

/// All objects in YAML blocks, in the order of the book. A block without a kind shows a part of an object and is left out.
fn shown() -> Vec<Shown> {
    let mut shown = Vec::new();
    for chapter in chapters() {
        for block in chapter.blocks().filter(|block| block.language() == "yaml") {
            let place = chapter.place(block.line);
            let documents = block.text().objects();
            let documents = documents.unwrap_or_else(|error| panic!("{place}: {}", error.text()));
            assert!(!documents.is_empty(), "{place}: this YAML says nothing");
            let whole = documents.into_iter().filter(|object| object["kind"].is_string());
            shown.extend(whole.map(|object| Shown {
                place: place.clone(),
                object,
            }));
        }
    }
    shown
}

fn is_definition(object: &Value) -> bool {
    object["kind"] == "CustomResourceDefinition"
}

/// The `CustomResourceDefinition`s of the repository's examples and of the first chapter.
fn known_definitions() -> Vec<Value> {
    let examples = fs::read_dir(root().join("../examples")).unwrap();
    let mut folders: Vec<PathBuf> = examples
        .map(|example| example.unwrap().path().join("config/crd/bases"))
        .filter(|folder| folder.is_dir())
        .collect();
    folders.push(root().join("tests/website"));
    let files = folders.into_iter().flat_map(|folder| fs::read_dir(folder).unwrap());
    let texts = files.map(|file| fs::read_to_string(file.unwrap().path()).unwrap());
    let objects = texts.flat_map(|text| text.objects().unwrap());
    objects.filter(is_definition).collect()
}

/// The object without the fields that a server adds.
fn as_written(mut object: Value) -> Value {
    if let Some(metadata) = object["metadata"].as_object_mut() {
        for field in [
            "uid",
            "resourceVersion",
            "creationTimestamp",
            "generation",
            "managedFields",
        ] {
            metadata.remove(field);
        }
    }
    object
}

#[kubewright::test]
async fn a_server_takes_every_object_of_the_book() {
    let shown = shown();
    let env = TestEnv::builder()
        .controllers(Controllers::none())
        .embedded()
        .start()
        .await;
    for definition in known_definitions() {
        env.apply(definition).await;
    }
    for definition in shown.iter().filter(|shown| is_definition(&shown.object)) {
        let applied = env.try_apply(as_written(definition.object.clone())).await;
        applied.unwrap_or_else(|error| panic!("{}: {}", definition.place, error.text()));
    }
    let namespaces: BTreeSet<&str> = shown
        .iter()
        .filter_map(|shown| shown.object["metadata"]["namespace"].as_str())
        .collect();
    for namespace in namespaces {
        env.apply(serde_json::json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": namespace } }))
            .await;
    }

    let client = env
        .client()
        .dry_run()
        .force()
        .field_owner("book")
        .field_validation(FieldValidation::Strict);
    let mapper = RestMapper::new(env.kube());
    for Shown { place, object } in &shown {
        let text = |name: &str| object[name].as_str().unwrap_or_default();
        let (group, version) = text("apiVersion").split_once('/').unwrap_or(("", text("apiVersion")));
        let kind = mapper.kind(group, version, text("kind")).await;
        let kind =
            kind.unwrap_or_else(|error| panic!("{place}: {error}: show its definition, or take another example"));
        let mut object = as_written(object.clone());
        if kind.is_namespaced() && object["metadata"]["namespace"].is_null() {
            object["metadata"]["namespace"] = env.namespace().into();
        }
        let object: DynamicObject = serde_json::from_value(object).unwrap();
        let applied = client.dynamic(kind).apply(&object).await;
        applied.unwrap_or_else(|error| panic!("{place}: {error}"));
    }
}

/// The first chapter's test applies a file, as a project's does; the chapter shows what is in it.
#[test]
fn the_sample_that_is_shown_is_the_one_that_is_tested() {
    let file = fs::read_to_string(root().join("tests/website/web_v1_website.yaml")).unwrap();
    for name in ["getting-started.md", "ja/getting-started.md"] {
        let chapter = chapters().into_iter().find(|chapter| chapter.name == name).unwrap();
        let is_shown = chapter
            .blocks()
            .any(|block| block.language() == "yaml" && block.text() == file);
        assert!(
            is_shown,
            "book/src/{name} does not show tests/website/web_v1_website.yaml"
        );
    }
}
