//! What serving reads of a definition (C10, C11, C13, C14), and what no definition can do to the checks.

use kubewright_structural::crd::{self, Conversion, Definition};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

fn served() -> Value {
    let version = |name: &str, deprecated: bool, served: bool| {
        json!({
            "name": name, "served": served, "storage": name == "v1", "deprecated": deprecated,
            "schema": {"openAPIV3Schema": {"type": "object", "description": name}},
        })
    };
    let mut object = json!({
        "metadata": {"name": "widgets.example.com", "uid": "u-1"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "widgets", "kind": "Widget", "shortNames": ["wd"], "categories": ["all"]},
            "versions": [
                version("v1alpha1", true, true), version("v1", false, true), version("v2beta1", true, true),
                version("v10", false, false),
            ],
        },
    });
    object["spec"]["versions"][1]["subresources"] = json!({
        "status": {},
        "scale": {"specReplicasPath": ".spec.n", "statusReplicasPath": ".status.n"},
    });
    object["spec"]["versions"][1]["additionalPrinterColumns"] =
        json!([{"name": "N", "type": "integer", "jsonPath": ".spec.n", "priority": 1}]);
    object["spec"]["versions"][1]["selectableFields"] = json!([{"jsonPath": ".spec.n"}]);
    object["spec"]["versions"][2]["deprecationWarning"] = "go away".into();
    crd::default(&mut object);
    crd::prepare_create(&mut object);
    while let Some(next) = crd::names::next_step(&object, [], "2026-01-01T00:00:00Z") {
        object = next;
    }
    object
}

#[test]
fn a_definition_is_not_served_before_its_names_are_accepted() {
    let mut object = served();
    object["status"] = json!({"storedVersions": ["v1"]});
    assert!(Definition::of(&object).is_none());
}

#[test]
fn versions_stand_in_the_order_of_preference() {
    let definition = Definition::of(&served()).expect("it is served");
    let names: Vec<&str> = definition
        .versions
        .iter()
        .map(|version| version.name.as_str())
        .collect();
    assert_eq!(names, ["v10", "v1", "v2beta1", "v1alpha1"]);
    assert_eq!(
        definition.storage_version().map(|version| version.name.as_str()),
        Some("v1")
    );
}

#[test]
fn a_deprecated_version_warns_in_its_own_words_or_names_a_newer_one() {
    let definition = Definition::of(&served()).expect("it is served");
    let warning = |name: &str| {
        definition
            .version(name)
            .and_then(|version| version.deprecation_warning.clone())
    };
    assert_eq!(
        warning("v1alpha1").as_deref(),
        Some("example.com/v1alpha1 Widget is deprecated; use example.com/v1 Widget")
    );
    assert_eq!(warning("v2beta1").as_deref(), Some("go away"));
    assert_eq!(warning("v1"), None);
}

#[test]
fn subresources_and_columns_of_a_version_are_read() {
    let definition = Definition::of(&served()).expect("it is served");
    let version = definition.version("v1").expect("it has v1");
    assert!(version.status && version.served);
    let scale = version.scale.as_ref().expect("it has a scale");
    assert_eq!(
        (scale.spec_replicas_path.as_str(), &scale.label_selector_path),
        (".spec.n", &None)
    );
    assert_eq!(
        (version.columns[0].kind.as_str(), version.columns[0].priority),
        ("integer", 1)
    );
    assert_eq!(version.selectable_fields, [".spec.n"]);
    assert_eq!(definition.names.short_names, ["wd"]);
    assert!(matches!(definition.conversion, Conversion::None));
}

#[test]
fn a_webhook_gets_its_port_and_the_first_stored_version_is_known() {
    let mut object = json!({
        "spec": {
            "names": {"kind": "Widget"},
            "conversion": {"strategy": "Webhook", "webhook": {"clientConfig": {"service": {"name": "s"}}}},
            "versions": [{"name": "v1", "storage": false}, {"name": "v2", "storage": true}],
        },
    });
    crd::default(&mut object);
    assert_eq!(
        object.pointer("/spec/conversion/webhook/clientConfig/service/port"),
        Some(&json!(443))
    );
    assert_eq!(
        object["spec"]["names"],
        json!({"kind": "Widget", "singular": "widget", "listKind": "WidgetList"})
    );
    assert_eq!(object["status"]["storedVersions"], json!(["v2"]));
}

#[test]
fn a_schema_as_deep_as_documents_may_be_is_checked() {
    let mut schema = json!({"type": "string", "x-kubernetes-validations": [{"rule": "self != ''"}]});
    for _ in 0..119 {
        schema = json!({"type": "object", "properties": {"a": schema}, "default": {}});
    }
    let schema = json!({
        "type": "object",
        "properties": {"a": schema},
        "x-kubernetes-validations": [{"rule": "has(self.a)"}],
    });
    let mut object = served();
    object["spec"]["versions"] =
        json!([{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}]);
    assert_eq!(crd::validate_create(&object).len(), 0);
}

/// Anything that may stand where a schema is expected.
fn any_json() -> impl Strategy<Value = Value> {
    const FIELDS: [&str; 22] = [
        "type",
        "properties",
        "items",
        "additionalProperties",
        "allOf",
        "anyOf",
        "not",
        "default",
        "pattern",
        "enum",
        "required",
        "format",
        "dependencies",
        "definitions",
        "x-kubernetes-validations",
        "x-kubernetes-list-type",
        "x-kubernetes-list-map-keys",
        "x-kubernetes-int-or-string",
        "x-kubernetes-embedded-resource",
        "x-kubernetes-preserve-unknown-fields",
        "rule",
        "metadata",
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        prop::sample::select(vec!["object", "array", "string", "map", "set", "self.a", "(", "é"]).prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 40, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((prop::sample::select(FIELDS.to_vec()), inner), 0..5).prop_map(|fields| {
                let fields = fields.into_iter().map(|(name, value)| (name.to_owned(), value));
                Value::Object(fields.collect::<Map<String, Value>>())
            }),
        ]
    })
}

proptest! {
    #[test]
    fn no_definition_breaks_the_checks(schema in any_json(), other in any_json()) {
        let mut object = served();
        object["spec"]["versions"][0]["schema"]["openAPIV3Schema"] = schema.clone();
        object["spec"]["versions"][1]["additionalPrinterColumns"] = other.clone();
        let mut broken = object.clone();
        broken["spec"]["versions"] = other.clone();
        broken["spec"]["conversion"] = schema;
        for object in [&mut object, &mut broken] {
            let old = object.clone();
            crd::default(object);
            crd::prepare_update(object, &old);
            let _ = crd::validate_create(object);
            let _ = crd::validate_update(object, &old);
            let _ = crd::validate_update(&other, object);
            let _ = crd::names::next_step(object, [&old], "2026-01-01T00:00:00Z");
            let _ = Definition::of(object);
        }
    }
}
