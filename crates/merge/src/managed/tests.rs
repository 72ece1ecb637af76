//! Sets of fields: their algebra, their form, their order.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{
    FieldFilter, FieldSet, FieldsError, ManagedFields, Path, PathElement, parent_managed_fields, scale_managed_fields,
    time,
};

fn set(fields: &Value) -> FieldSet {
    FieldSet::from_fields_v1(fields).expect("a set")
}

#[test]
fn a_set_is_written_in_upstreams_order_and_form() {
    let text = concat!(
        r#"{"f:aab":{"f:aaf":{"k:{\"port\":443,\"protocol\":\"udp\"}":{"k:{\"port\":80,\"protocol\":\"tcp\"}":{}}}},"#,
        r#""k:{\"port\":80}":{".":{},"f:port":{}},"k:{\"port\":443}":{},"#,
        r#""v:1":{},"v:2.5":{},"v:\"a\\u003cb\"":{},"v:true":{},"i:2":{},"i:10":{}}"#
    );
    let fields: Value = serde_json::from_str(text).expect("JSON");
    let set = set(&fields);
    assert_eq!(set.to_fields_v1_text(), text);
    assert_eq!(set.to_fields_v1(), fields);
}

#[test]
fn a_set_in_another_form_is_read_and_put_into_order() {
    let set = set(&json!({
        "f:b": {"r:unknown": {}}, "f:a": {".": {"f:x": {}}}, "k:{ \"protocol\":\"udp\",\"port\":443.0}": null, "r:c": 1,
    }));
    assert_eq!(
        set.to_fields_v1_text(),
        r#"{"f:a":{},"f:b":{},"k:{\"port\":443,\"protocol\":\"udp\"}":{}}"#
    );
}

#[test]
fn what_is_no_set_is_refused() {
    for wrong in [
        json!({"f:a": 1}),
        json!([]),
        json!({"x": {}}),
        json!({"i:x": {}}),
        json!({"k:1": {}}),
        json!({"k:{": {}}),
    ] {
        assert!(FieldSet::from_fields_v1(&wrong).is_err(), "{wrong}");
    }
    let mut deep = json!({});
    for _ in 0..300 {
        deep = json!({"f:a": deep});
    }
    assert_eq!(FieldSet::from_fields_v1(&deep), Err(FieldsError::TooDeep));
}

#[test]
fn a_path_is_printed_as_the_api_server_prints_it() {
    let fields = json!({"f:spec": {"f:ports": {
        "k:{\"port\":1234567,\"protocol\":\"TCP\"}": {"f:name": {}}, "v:\"a\\tb\"": {}, "i:3": {},
    }}});
    let paths: Vec<String> = set(&fields).paths().iter().map(Path::to_string).collect();
    let expected = [
        ".spec.ports[=\"a\\tb\"]",
        ".spec.ports[3]",
        ".spec.ports[port=1.234567e+06,protocol=\"TCP\"].name",
    ];
    assert_eq!(paths, expected);
}

#[test]
fn a_set_knows_its_leaves_and_what_lies_below() {
    let all = set(&json!({"f:a": {".": {}, "f:b": {}}, "f:c": {}}));
    assert_eq!(all.leaves(), set(&json!({"f:a": {"f:b": {}}, "f:c": {}})));
    assert_eq!(
        all.difference(&FieldSet::of_fields(&["a"])),
        set(&json!({"f:a": {"f:b": {}}, "f:c": {}}))
    );
    assert_eq!(
        all.recursive_difference(&FieldSet::of_fields(&["a"])),
        FieldSet::of_fields(&["c"])
    );
    assert!(all.contains(&[PathElement::field("a")]) && !all.contains(&[]));
}

#[test]
fn a_filter_includes_by_pattern() {
    let all = set(&json!({
        "f:spec": {
            "f:containers": {"k:{\"name\":\"c\"}": {".": {}, "f:image": {}, "f:resources": {"f:limits": {"f:cpu": {}}}}},
            "f:nodeName": {},
        },
        "f:metadata": {"f:labels": {"f:a": {}}},
    }));
    let filter = FieldFilter::include(&["spec.containers.*.resources"]);
    let kept = set(&json!({
        "f:spec": {"f:containers": {"k:{\"name\":\"c\"}": {".": {}, "f:resources": {"f:limits": {"f:cpu": {}}}}}},
    }));
    assert_eq!(filter.filter(&all), kept);
    assert_eq!(FieldFilter::exclude(&["spec.containers"]).filter(&all).len(), 2);
}

#[test]
fn entries_are_ordered_by_operation_time_and_name() {
    let entry = |manager: &str, operation: &str, time: Option<&str>| {
        let mut entry = json!({"manager": manager, "operation": operation, "apiVersion": "v1", "fieldsType": "FieldsV1",
            "fieldsV1": {"f:a": {}}});
        if let Some(time) = time {
            entry["time"] = json!(time);
        }
        entry
    };
    let unordered = json!([
        entry("a", "Update", Some("2026-01-01T00:00:00Z")),
        entry("b", "Apply", Some("2026-01-01T00:00:01Z")),
        entry("c", "Apply", Some("2026-01-01T01:00:00.5+01:00")),
        entry("d", "Apply", None),
    ]);
    let ordered = ManagedFields::decode(unordered)
        .expect("entries")
        .encode()
        .expect("a list");
    let names: Vec<_> = ordered
        .as_array()
        .into_iter()
        .flatten()
        .map(|entry| entry["manager"].clone())
        .collect();
    assert_eq!(names, ["d", "c", "b", "a"]);
}

#[test]
fn entries_that_cannot_be_read_say_why() {
    let decode = |entry: Value| {
        ManagedFields::decode(json!([entry]))
            .map(|_| ())
            .map_err(|error| error.to_string())
    };
    assert_eq!(
        decode(json!({"operation": "x"})),
        Err("operation must be `Apply` or `Update`".to_owned())
    );
    assert_eq!(
        decode(json!({"operation": "Apply"})),
        Err("apiVersion must not be empty".to_owned())
    );
    let entry = json!({"operation": "Apply", "apiVersion": "v1"});
    assert_eq!(
        decode(entry),
        Err("missing fieldsType in managed fields entry 0".to_owned())
    );
    let entry = json!({"operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV2"});
    assert_eq!(
        decode(entry),
        Err("invalid fieldsType \"FieldsV2\" in managed fields entry 0".to_owned())
    );
}

#[test]
fn times_are_seconds_since_1970() {
    assert_eq!(time::unix_seconds("1970-01-01T00:00:00Z"), Some(0));
    assert_eq!(time::unix_seconds("2026-11-16T02:31:56Z"), Some(1_794_796_316));
    assert_eq!(time::unix_seconds("2024-02-29T23:59:59.25-00:30"), Some(1_709_252_999));
    for wrong in [
        "",
        "2026-01-01",
        "2026-13-01T00:00:00Z",
        "2026-01-01T00:00:00",
        "2026-01-01T00:00:00+1",
        "x\u{e9}2345678901",
    ] {
        assert_eq!(time::unix_seconds(wrong), None, "{wrong}");
    }
}

#[test]
fn replicas_move_between_an_object_and_its_scale() {
    let entry = |manager: &str, version: &str, subresource: &str, fields: Value| {
        let mut entry = json!({"manager": manager, "operation": "Update", "apiVersion": version, "fieldsType": "FieldsV1",
            "fieldsV1": fields});
        if !subresource.is_empty() {
            entry["subresource"] = json!(subresource);
        }
        entry
    };
    let paths = [("apps/v1", Some("spec.replicas"))];
    let parent = json!([entry(
        "creator",
        "apps/v1",
        "",
        json!({"f:spec": {"f:replicas": {}, "f:paused": {}}})
    )]);
    let scale = scale_managed_fields(&parent, &paths).expect("readable");
    let replicas = json!({"f:spec": {"f:replicas": {}}});
    assert_eq!(
        scale,
        Some(json!([entry("creator", "autoscaling/v1", "", replicas.clone())]))
    );
    let scale = json!([entry("scaler", "autoscaling/v1", "scale", replicas.clone())]);
    let merged = parent_managed_fields(&parent, &scale, "apps/v1", &paths).expect("readable");
    let expected = json!([
        entry("creator", "apps/v1", "", json!({"f:spec": {"f:paused": {}}})),
        entry("scaler", "apps/v1", "scale", replicas),
    ]);
    assert_eq!(merged, Some(expected));
}

fn element() -> impl Strategy<Value = PathElement> {
    let scalar = prop_oneof![
        any::<i64>().prop_map(Value::from),
        any::<i32>().prop_map(|eighths| Value::from(f64::from(eighths) / 8.0)),
        any::<bool>().prop_map(Value::from),
        ".{0,3}".prop_map(Value::from),
        Just(Value::Null),
    ];
    prop_oneof![
        "[a-c]".prop_map(|name| PathElement::field(&name)),
        prop::collection::btree_map("[a-c]", scalar.clone(), 1..3).prop_map(|keys| {
            PathElement::key(
                keys.into_iter()
                    .map(|(name, value)| (name.into_boxed_str(), value))
                    .collect(),
            )
        }),
        scalar.prop_map(PathElement::Value),
        (0..3_i64).prop_map(PathElement::Index),
    ]
}

fn field_set() -> impl Strategy<Value = FieldSet> {
    prop::collection::vec(prop::collection::vec(element(), 1..4), 0..8).prop_map(|paths| {
        let mut set = FieldSet::new();
        for path in paths {
            set.insert(path);
        }
        set
    })
}

proptest! {
    #[test]
    fn a_set_survives_its_written_form(set in field_set()) {
        prop_assert_eq!(FieldSet::from_fields_v1(&set.to_fields_v1()), Ok(set.clone()));
        let text: Value = serde_json::from_str(&set.to_fields_v1_text()).expect("JSON");
        prop_assert_eq!(FieldSet::from_fields_v1(&text), Ok(set));
    }

    #[test]
    fn sets_obey_the_laws_of_sets(a in field_set(), b in field_set(), c in field_set()) {
        prop_assert_eq!(a.union(&b), b.union(&a));
        prop_assert_eq!(a.union(&b).union(&c), a.union(&b.union(&c)));
        prop_assert_eq!(a.intersection(&b), a.difference(&a.difference(&b)));
        prop_assert_eq!(a.difference(&b).union(&a.intersection(&b)), a.clone());
        prop_assert_eq!(a.intersection(&b.union(&c)), a.intersection(&b).union(&a.intersection(&c)));
        prop_assert_eq!(a.intersects(&b), !a.intersection(&b).is_empty());
        prop_assert_eq!(a.contains_all(&b), b.difference(&a).is_empty());
        prop_assert!(a.difference(&b).contains_all(&a.recursive_difference(&b)));
        prop_assert_eq!(a.len(), a.paths().len());
        for path in a.paths() {
            prop_assert!(a.contains(&path.0) && a.union(&b).contains(&path.0));
            prop_assert_eq!(a.difference(&b).contains(&path.0), !b.contains(&path.0));
        }
    }
}
