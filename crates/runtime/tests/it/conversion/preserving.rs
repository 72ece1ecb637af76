//! What a version cannot hold survives in an annotation.

use serde_json::{Value, json};

use super::kinds::{preserving, shop};

const ANNOTATION: &str = "shop.example.com/conversion-data";

fn to(version: &str, object: &Value) -> Value {
    preserving()
        .convert(object, &format!("shop.example.com/{version}"))
        .unwrap()
}

fn full() -> Value {
    let mut full = shop(
        "v1",
        "a",
        &json!({
            "replicas": 3, "paused": true, "payment": "Barter", "timeoutSeconds": 5,
            "ports": [
                { "name": "http", "number": 80, "protocol": "TCP" },
                { "name": "dns", "number": 53, "protocol": "UDP" },
            ],
            "shelves": { "left": { "height": 1.5 } },
        }),
    );
    full["status"] = json!({ "readyReplicas": 1, "message": "waiting" });
    full["metadata"]["annotations"] = json!({ "own": "kept" });
    full
}

#[test]
fn the_hub_comes_back_whole_from_every_spoke_and_through_all_of_them() {
    for way in [
        &["v1beta1"][..],
        &["v1alpha1"],
        &["v1beta1", "v1alpha1"],
        &["v1alpha1", "v1beta1", "v1alpha1"],
    ] {
        let mut object = full();
        for version in way {
            object = to(version, &object);
            assert!(object["metadata"]["annotations"][ANNOTATION].is_string());
        }
        assert_eq!(to("v1", &object), full(), "{way:?}");
    }
}

#[test]
fn nothing_is_noted_where_nothing_is_lost() {
    let mut plain = full();
    plain["spec"] = json!({ "replicas": 3, "paused": false, "payment": "Card" });
    plain["status"] = json!({ "readyReplicas": 1 });
    let old = to("v1beta1", &plain);
    assert_eq!(old["metadata"], plain["metadata"]);
    assert_eq!(to("v1", &old), plain);
}

#[test]
fn an_edit_in_the_old_version_wins_and_the_rest_is_still_there() {
    let mut old = to("v1beta1", &full());
    old["spec"]["size"] = json!(9);
    old["spec"]["payment"] = "Plastic".into();
    old["spec"]["ports"][1]["number"] = json!(5353);
    let ports = old["spec"]["ports"].as_array_mut().unwrap();
    ports.insert(0, json!({ "name": "new", "number": 1 }));
    let new = to("v1", &old);
    assert_eq!(new["spec"]["replicas"], 9);
    // It was `Barter`, which the old version shows as `Cash`; somebody said otherwise.
    assert_eq!(new["spec"]["payment"], "Card");
    assert_eq!(new["spec"]["paused"], true);
    assert_eq!(
        new["spec"]["ports"],
        json!([
            { "name": "new", "number": 1, "protocol": "TCP" },
            { "name": "http", "number": 80, "protocol": "TCP" },
            { "name": "dns", "number": 5353, "protocol": "UDP" },
        ])
    );
    assert_eq!(new["metadata"]["annotations"], json!({ "own": "kept" }));
}

#[test]
fn what_only_the_old_version_has_waits_at_the_hub() {
    let old = shop("v1alpha1", "a", &json!({ "size": "1", "motto": "open late" }));
    let mut stored = to("v1", &old);
    assert!(stored["metadata"]["annotations"][ANNOTATION].is_string());
    assert_eq!(to("v1alpha1", &stored), old);
    // Also when the object is edited at the hub, or read in a third version, meanwhile.
    stored["spec"]["replicas"] = json!(2);
    let beta = to("v1beta1", &stored);
    let mut again = to("v1alpha1", &to("v1", &beta));
    assert_eq!(again["spec"], json!({ "size": "2", "motto": "open late" }));
    again["spec"].as_object_mut().unwrap().remove("motto");
    assert_eq!(to("v1", &again)["metadata"].get("annotations"), None);
}

#[test]
fn what_is_too_large_for_annotations_is_left_out_and_the_object_still_readable() {
    let mut large = full();
    large["status"]["message"] = "x".repeat(300 << 10).into();
    let old = to("v1beta1", &large);
    assert_eq!(old["metadata"]["annotations"], json!({ "own": "kept" }));
    assert_eq!(old["spec"]["size"], 3);
    // The limit is for all annotations together, 256 KiB, to the byte.
    let mut object = full();
    let note = to("v1beta1", &object)["metadata"]["annotations"][ANNOTATION]
        .as_str()
        .unwrap()
        .len();
    let room = (256 << 10) - note - ANNOTATION.len() - "ownkept".len() - "big".len();
    object["metadata"]["annotations"]["big"] = "x".repeat(room).into();
    assert!(to("v1beta1", &object)["metadata"]["annotations"][ANNOTATION].is_string());
    object["metadata"]["annotations"]["big"] = "x".repeat(room + 1).into();
    assert!(to("v1beta1", &object)["metadata"]["annotations"][ANNOTATION].is_null());
}

#[test]
fn an_annotation_of_somebody_else_s_making_does_no_harm() {
    let member = |change: Value| json!({ "v1": { "members": { "spec": { "members": change } } } }).to_string();
    for text in [
        "not json".to_owned(),
        "[]".to_owned(),
        json!({ "v1": 1 }).to_string(),
        json!({ "v1": { "kept": "all" } }).to_string(),
        // Not what the hub's type can read.
        member(json!({ "paused": { "seen": false, "kept": "yes" } })),
        member(json!({ "replicas": { "seen": 3 } })),
        "[".repeat(100_000),
    ] {
        let mut old = shop("v1beta1", "a", &json!({ "size": 3 }));
        old["metadata"]["annotations"] = json!({ ANNOTATION: text });
        let new = to("v1", &old);
        assert_eq!(
            new["spec"],
            json!({ "replicas": 3, "paused": false, "payment": "Cash" }),
            "{text:.40}"
        );
        assert_eq!(new["metadata"].get("annotations"), None);
    }
}
