//! The descriptions of the package reach everything that `kubectl explain` shows.

#[path = "../examples/generate/facts.rs"]
mod facts;
#[path = "../examples/generate/package.rs"]
mod package;
#[path = "../examples/generate/source.rs"]
mod source;

use kubewright_kind_docs::builtin;
use kubewright_schema::openapi::{self, TypeDocs as _};
use kubewright_schema::{Types, resources};

#[test]
fn every_kind_is_described() {
    // Of the package, and options of requests, enumerations, lists and events of watches.
    assert_eq!(builtin().len(), 522 + 135);
    for resource in resources().iter() {
        let ty = Types::builtin()
            .kind(resource.group, resource.version, resource.kind)
            .unwrap();
        let name = ty.name().unwrap();
        assert!(builtin().of_type(name).is_some(), "{name}");
    }
}

/// The real document has 2 994 descriptions. That they are the same is what `documents` of the conformance tests holds.
#[test]
fn a_document_has_the_descriptions_that_the_real_one_has() {
    let document = openapi::swagger(builtin());
    let mut described = 0;
    let mut undescribed = Vec::new();
    for (name, schema) in document["definitions"].as_object().unwrap() {
        let fields = schema["properties"].as_object().into_iter().flatten();
        for (place, part) in fields.chain([(name, schema)]) {
            if part["description"].is_string() {
                described += 1;
            } else if !name.ends_with("List") {
                undescribed.push(format!("{place} of {name}"));
            }
        }
    }
    assert_eq!(described, 2_994);
    assert!(undescribed.len() < 60, "{undescribed:?}");
}

#[test]
fn line_breaks_and_quotes_are_as_the_package_has_them() {
    let text = builtin()
        .of_field("io.k8s.api.core.v1.PodSpec", "os")
        .unwrap_or_default();
    assert!(text.contains('\n') && !text.contains("\\n"), "{text:?}");
    let text = builtin()
        .of_field("io.k8s.api.core.v1.Service", "spec")
        .unwrap_or_default();
    assert!(text.starts_with("Spec defines the behavior of a service."), "{text:?}");
    assert!(builtin().of_type("io.k8s.api.core.v1.Nothing").is_none());
    assert!(builtin().of_field("io.k8s.api.core.v1.Pod", "nothing").is_none());
}

/// Fails when the lock file names another version of the package, until `cargo run --example generate` has written the table anew.
#[test]
fn the_table_is_what_the_locked_package_says() {
    let table = include_str!("../facts/v1.36/descriptions.facts");
    match package::find() {
        Ok(package) => {
            let generated = facts::generate(&package).unwrap();
            let differs = table.lines().zip(generated.lines()).find(|(one, other)| one != other);
            assert!(table == generated, "the first line that differs: {differs:?}");
        }
        Err(why) => eprintln!("skipped: the sources of the package are not at hand: {why}"),
    }
}
