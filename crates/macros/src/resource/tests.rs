//! What users are told when they err, and what is written when they do not.

use super::expand;
use super::keys::Keys;

const NAMES: &str = "group = \"example.com\", version = \"v1\", kind = \"Shop\"";

/// The mistakes in keys beside the necessary ones.
fn mistakes(keys: &str) -> Vec<String> {
    match Keys::parse(keys.parse().unwrap()) {
        Ok(_) => panic!("no mistake was found in {keys}"),
        Err(error) => error.into_iter().map(|error| error.to_string()).collect(),
    }
}

fn mistake(more: &str) -> String {
    mistakes(&format!("{NAMES}, {more}")).remove(0)
}

fn code(more: &str, item: &str) -> String {
    let keys = format!("{NAMES}, {more}");
    let code = expand(keys.parse().unwrap(), item.parse().unwrap());
    code.to_string().replace(' ', "")
}

#[test]
fn the_names_of_a_kind_are_needed() {
    assert_eq!(
        mistakes("kind = \"Shop\""),
        [
            "`group` is missing: #[kubewright::resource(group = \"example.com\", …)]",
            "`version` is missing: #[kubewright::resource(version = \"v1\", …)]",
        ]
    );
    assert!(mistakes("group = \"a\", version = \"v1\"")[0].contains("`kind` is missing"));
    assert!(
        mistakes("group = \"a\", version = \"v1\", kind = \"my-shop\"")[0]
            .contains("is no name that a Rust type can have")
    );
}

#[test]
fn words_that_are_not_known_are_told_with_the_nearest() {
    assert_eq!(
        mistake("namespacd"),
        "`namespacd` is not known here; did you mean `namespaced`?"
    );
    assert_eq!(
        mistake("printcolum(name = \"a\")"),
        "`printcolum` is not known here; did you mean `printcolumn`?"
    );
    assert_eq!(mistake("group = \"x\""), "`group` is said twice");
    assert!(mistake("schema = \"derived\"").contains("leave this out"));
}

#[test]
fn scale_without_a_status_is_told_of_and_not_dropped() {
    assert_eq!(
        mistake("scale"),
        "`scale` needs `status = …`: the replicas it shows are in the status"
    );
    assert!(
        mistake(r##"scale = r#"{"specReplicasPath":".spec.replicas","statusReplicasPath":".status.replicas"}"#"##)
            .contains("needs `status")
    );
    assert!(mistake("status = \"S\", scale(spec_replica = \".a\")").contains("did you mean `spec_replicas`?"));
}

#[test]
fn columns_are_whole_and_of_known_types() {
    assert!(mistake("printcolumn(name = \"A\", type = \"integer\")").contains("a column needs `json_path`"));
    assert!(
        mistake("printcolumn(name = \"A\", type = \"integr\", json_path = \".a\")").contains("did you mean `integer`?")
    );
    assert_eq!(
        mistake("printcolumn(name = \"A\", type = \"date\", json_path = \"spec.a\")"),
        "a path begins with a dot: \".spec.a\""
    );
    assert!(mistake("selectable(\"spec.a\")").contains("begins with a dot"));
}

#[test]
fn kube_s_own_forms_are_passed_on() {
    let json = r##"printcolumn = r#"{"name":"A"}"#"##;
    let more = format!(
        "shortname = \"a\", shortname = \"b\", category = \"all\", label(\"k\", \"v\"), derive = \"Default\", {json}"
    );
    let code = code(&more, "struct ShopSpec { a: u8 }");
    for part in [
        "shortname=\"a\",shortname=\"b\"",
        "category=\"all\"",
        "label(\"k\",\"v\")",
        "derive=\"Default\",derive=\"PartialEq\"",
        "printcolumn=r#\"{\"name\":\"A\"}\"#",
        "schema=\"disabled\"",
        "kube_core=\"::kubewright::kube::core\"",
    ] {
        assert!(code.contains(part), "{part}: {code}");
    }
}

#[test]
fn versions_are_served_stored_and_deprecated_as_said() {
    let code = code(
        "unserved, storage = false, deprecated(warning = \"use v2\")",
        "struct ShopSpec { a: u8 }",
    );
    assert!(
        code.contains(
            "served=false,storage=false,deprecated=\"use v2\""
                .replace(' ', "")
                .as_str()
        ),
        "{code}"
    );
}

#[test]
fn a_spec_is_one_type_with_one_attribute() {
    assert!(code("namespaced", "#[kube(a)] struct ShopSpec {}").contains("into`#[kubewright::resource(…)]`"));
    assert!(code("namespaced", "struct ShopSpec<T> { a: T }").contains("cannotbegeneric"));
    assert!(code("namespaced", "fn shop() {}").contains("compile_error"));
}

#[test]
fn twins_are_written_unless_they_are_not_wanted() {
    let item = "pub struct ShopSpec { a: u8 }";
    assert!(code("namespaced", item).contains("pubtypeShopApply=::kubewright::apply::Apply<Shop>;"));
    assert!(code("namespaced", item).contains("pubstructShopSpecApply"));
    assert!(!code("apply = false", item).contains("::kubewright::apply::"));
}
