//! The words of the package reach everything that `kubectl explain` shows.

use kubewright_descriptions::builtin;
use kubewright_schema::openapi::{self, Prose as _};
use kubewright_schema::{Types, resources};

#[test]
fn every_kind_is_described() {
    assert!(builtin().len() > 600, "{} types", builtin().len());
    for resource in resources().iter() {
        let ty = Types::builtin()
            .kind(resource.group, resource.version, resource.kind)
            .unwrap();
        let name = ty.name().unwrap();
        assert!(builtin().of_type(name).is_some(), "{name}");
    }
}

/// The real document has 2 994 descriptions; 184 are those of list kinds and of watch events, which the package lacks.
#[test]
fn a_document_has_the_words_that_the_real_one_has() {
    let document = openapi::swagger(builtin());
    let mut described = 0;
    let mut silent = Vec::new();
    for (name, schema) in document["definitions"].as_object().unwrap() {
        let fields = schema["properties"].as_object().into_iter().flatten();
        for (place, part) in fields.chain([(name, schema)]) {
            if part["description"].is_string() {
                described += 1;
            } else if !name.ends_with("List") {
                silent.push(format!("{place} of {name}"));
            }
        }
    }
    assert_eq!(described, 2_810);
    assert!(silent.len() < 60, "{silent:?}");
}

#[test]
fn line_breaks_and_quotes_survive_the_packing() {
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
