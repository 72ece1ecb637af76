//! What the rules of server-side apply promise, one sentence each.

use serde_json::{Value, json};

use super::testing::{TestVersions, manager, metadata_type, test_type};
use super::{ApplyError, FieldManager, apply, keep_times_of_a_no_op, update};

const T1: &str = "2026-01-01T00:00:01Z";
const T2: &str = "2026-01-01T00:00:02Z";
const T3: &str = "2026-01-01T00:00:03Z";

fn thing(rest: Value) -> Value {
    let mut thing = json!({"apiVersion": "v1", "kind": "Thing", "metadata": {"name": "a", "namespace": "n"}});
    if let Value::Object(rest) = rest {
        thing.as_object_mut().expect("an object").extend(rest);
    }
    thing
}

/// What the server adds when it stores an object.
fn stored(mut object: Value) -> Value {
    object["metadata"]["uid"] = json!("u");
    object
}

fn created(name: &str, time: &str, rest: Value) -> Value {
    stored(update(
        &TestVersions::default(),
        &manager(name, time),
        None,
        thing(rest),
    ))
}

fn applied(name: &str, time: &str, live: &Value, rest: Value) -> Value {
    apply(
        &TestVersions::default(),
        &manager(name, time),
        Some(live),
        &thing(rest),
        false,
    )
    .expect("no conflict")
}

fn owners(object: &Value) -> Value {
    object["metadata"]["managedFields"].clone()
}

fn entry(manager: &str, operation: &str, time: &str, fields: Value) -> Value {
    let mut entry = json!({
        "manager": manager, "operation": operation, "apiVersion": "v1", "fieldsType": "FieldsV1",
    });
    entry["fieldsV1"] = fields;
    if !time.is_empty() {
        entry["time"] = json!(time);
    }
    entry
}

#[test]
fn a_creator_owns_what_it_set_and_no_field_that_is_always_there() {
    let object = created("me", T1, json!({"data": {"x": "1"}, "spec": {"replicas": 1}}));
    let fields = json!({"f:data": {".": {}, "f:x": {}}, "f:spec": {"f:replicas": {}}});
    assert_eq!(owners(&object), json!([entry("me", "Update", T1, fields)]));
}

#[test]
fn an_update_takes_what_it_changes_and_empty_owners_vanish() {
    let live = created("one", T1, json!({"data": {"x": "1"}}));
    let mut new = live.clone();
    new["data"]["x"] = json!("2");
    let object = update(&TestVersions::default(), &manager("two", T2), Some(&live), new);
    let expected = json!([
        entry("one", "Update", T1, json!({"f:data": {}})),
        entry("two", "Update", T2, json!({"f:data": {"f:x": {}}})),
    ]);
    assert_eq!(owners(&object), expected);
    let mut without = object.clone();
    without.as_object_mut().expect("an object").remove("data");
    let object = update(&TestVersions::default(), &manager("three", T3), Some(&object), without);
    assert_eq!(owners(&object), Value::Null);
}

#[test]
fn a_write_that_changes_nothing_leaves_times_alone() {
    let live = created("one", T1, json!({"data": {"x": "1"}}));
    let object = update(&TestVersions::default(), &manager("one", T2), Some(&live), live.clone());
    assert_eq!(object, live);
}

#[test]
fn equal_values_are_shared_and_the_second_owner_has_no_time() {
    let live = applied("one", T1, &stored(thing(json!({}))), json!({"data": {"x": "1"}}));
    let live = applied("two", T2, &live, json!({"data": {"x": "1"}}));
    let expected = json!([
        entry("two", "Apply", "", json!({"f:data": {"f:x": {}}})),
        entry("one", "Apply", T1, json!({"f:data": {"f:x": {}}})),
    ]);
    assert_eq!(owners(&live), expected);
}

#[test]
fn different_values_conflict_in_the_words_of_the_api_server() {
    let live = applied("one", T1, &stored(thing(json!({}))), json!({"data": {"x": "1"}}));
    let attempt = |live: &Value, rest| {
        apply(
            &TestVersions::default(),
            &manager("two", T2),
            Some(live),
            &thing(rest),
            false,
        )
    };
    let Err(ApplyError::Conflict(conflicts)) = attempt(&live, json!({"data": {"x": "2"}})) else {
        panic!("expected a conflict");
    };
    assert_eq!(
        conflicts.message(),
        r#"Apply failed with 1 conflict: conflict with "one": .data.x"#
    );
    let mut new = live.clone();
    new["data"]["y"] = json!("1");
    new["data"]["z"] = json!("1");
    let live = update(&TestVersions::default(), &manager("upd", T2), Some(&live), new);
    let Err(ApplyError::Conflict(conflicts)) = attempt(&live, json!({"data": {"x": "2", "y": "2", "z": "2"}})) else {
        panic!("expected a conflict");
    };
    assert_eq!(
        conflicts.message(),
        "Apply failed with 3 conflicts: conflicts with \"one\":\n- .data.x\nconflicts with \"upd\" using v1:\n- .data.y\n\
         - .data.z"
    );
    let causes = conflicts.causes();
    assert_eq!(causes.len(), 3);
    assert_eq!(
        (causes[1].reason, &*causes[1].field),
        ("FieldManagerConflict", ".data.y")
    );
    assert_eq!(causes[1].message, "conflict with \"upd\" using v1");
}

#[test]
fn force_takes_the_field_for_itself() {
    let live = applied(
        "one",
        T1,
        &stored(thing(json!({}))),
        json!({"data": {"x": "1", "y": "1"}}),
    );
    let config = thing(json!({"data": {"x": "2"}}));
    let object = apply(
        &TestVersions::default(),
        &manager("two", T2),
        Some(&live),
        &config,
        true,
    )
    .expect("forced");
    let expected = json!([
        entry("one", "Apply", T1, json!({"f:data": {"f:y": {}}})),
        entry("two", "Apply", T2, json!({"f:data": {"f:x": {}}})),
    ]);
    assert_eq!(owners(&object), expected);
    assert_eq!(object["data"], json!({"x": "2", "y": "1"}));
}

#[test]
fn what_only_i_owned_and_no_longer_apply_is_removed() {
    let live = applied(
        "one",
        T1,
        &stored(thing(json!({}))),
        json!({"data": {"x": "1", "y": "1"}, "spec": {"replicas": 2}}),
    );
    let object = applied("one", T2, &live, json!({"data": {"y": "1"}}));
    assert_eq!(object["data"], json!({"y": "1"}));
    assert_eq!(object.get("spec"), None);
    let live = applied("two", T2, &object, json!({"data": {"y": "1"}}));
    let object = applied("one", T3, &live, json!({}));
    assert_eq!(object["data"], json!({"y": "1"}), "two still owns it");
    assert_eq!(
        owners(&object),
        json!([entry("two", "Apply", "", json!({"f:data": {"f:y": {}}}))])
    );
}

#[test]
fn what_an_updater_added_below_my_field_survives_its_removal() {
    let live = applied("one", T1, &stored(thing(json!({}))), json!({"data": {"x": "1"}}));
    let mut new = live.clone();
    new["data"]["y"] = json!("1");
    let live = update(&TestVersions::default(), &manager("upd", T2), Some(&live), new);
    let object = applied("one", T3, &live, json!({}));
    assert_eq!(object["data"], json!({"y": "1"}));
}

#[test]
fn items_with_defaulted_keys_are_found_by_them() {
    let config = json!({"spec": {"ports": [{"port": 80}, {"port": 53, "protocol": "UDP", "name": "dns"}]}});
    let live = applied("one", T1, &stored(thing(json!({}))), config);
    let fields = json!({"f:spec": {"f:ports": {
        "k:{\"port\":80,\"protocol\":\"TCP\"}": {".": {}, "f:port": {}},
        "k:{\"port\":53,\"protocol\":\"UDP\"}": {".": {}, "f:name": {}, "f:port": {}, "f:protocol": {}},
    }}});
    assert_eq!(owners(&live), json!([entry("one", "Apply", T1, fields)]));
    let object = applied(
        "one",
        T2,
        &live,
        json!({"spec": {"ports": [{"port": 80, "protocol": "TCP"}]}}),
    );
    assert_eq!(object["spec"]["ports"], json!([{"port": 80, "protocol": "TCP"}]));
}

#[test]
fn the_applied_order_wins_and_other_items_keep_their_place() {
    let names = |object: &Value| -> Vec<String> {
        let containers = object["spec"]["containers"].as_array().expect("a list");
        containers
            .iter()
            .map(|item| item["name"].as_str().expect("a name").to_owned())
            .collect()
    };
    let containers = |names: &str| -> Value { names.chars().map(|name| json!({"name": name.to_string()})).collect() };
    let live = stored(thing(json!({"spec": {"containers": containers("abcd")}})));
    let object = applied("one", T1, &live, json!({"spec": {"containers": containers("cxa")}}));
    assert_eq!(names(&object), ["b", "c", "d", "x", "a"]);
}

#[test]
fn duplicates_are_refused_in_a_configuration_and_tolerated_in_a_live_object() {
    let config = thing(json!({"metadata": {"name": "a", "finalizers": ["f", "f"]}}));
    let live = stored(thing(json!({})));
    let refused = apply(
        &TestVersions::default(),
        &manager("one", T1),
        Some(&live),
        &config,
        false,
    );
    let message = "failed to create typed patch object (/a; /v1, Kind=Thing): .metadata.finalizers: duplicate entries for \
                   key [=\"f\"]";
    assert_eq!(refused, Err(ApplyError::Failed(message.to_owned())));
    let live = stored(thing(
        json!({"spec": {"containers": [{"name": "d", "image": "1"}, {"name": "d", "image": "2"}]}}),
    ));
    let object = applied("one", T1, &live, json!({"data": {"x": "1"}}));
    assert_eq!(object["spec"], live["spec"]);
    let fields = json!({"f:spec": {"f:containers": {".": {}, "k:{\"name\":\"d\"}": {}}}});
    assert_eq!(owners(&object)[1], entry("before-first-apply", "Update", T1, fields));
}

#[test]
fn what_does_not_fit_the_type_is_told_in_upstreams_words() {
    let config = thing(json!({
        "data": "x",
        "metadata": {"name": "a", "labels": {"l": 1}},
        "spec": {
            "replicas": "a", "paused": 1, "args": {"a": 1},
            "containers": [{"name": "a"}, {"name": "a"}, {"image": "x"}], "ports": [null],
        },
    }));
    let refused = apply(
        &TestVersions::default(),
        &manager("one", T1),
        Some(&thing(json!({}))),
        &config,
        false,
    );
    let message = [
        "failed to create typed patch object (/a; /v1, Kind=Thing): errors:",
        "  .data: expected map, got &{x}",
        "  .metadata.labels.l: expected string, got &value.valueUnstructured{Value:1}",
        "  .spec.args: expected list, got &{map[a:1]}",
        "  .spec.containers: duplicate entries for key [name=\"a\"]",
        "  .spec.containers: element 2: associative list with keys has an element that omits all key fields [\"name\"] (and \
         doesn't have default values for any key fields)",
        "  .spec.paused: expected boolean, got &{1}",
        "  .spec.ports: element 0: associative list with keys may not have a null element",
        "  .spec.replicas: expected numeric (int or float), got string",
    ];
    assert_eq!(refused, Err(ApplyError::Failed(message.join("\n"))));
    let config = thing(json!({"spec": {"unknown": 1}}));
    let refused = apply(
        &TestVersions::default(),
        &manager("one", T1),
        Some(&thing(json!({}))),
        &config,
        false,
    );
    let message =
        "failed to create typed patch object (n/a; /v1, Kind=Thing): .spec.unknown: field not declared in schema";
    assert_eq!(refused, Err(ApplyError::Failed(message.to_owned())));
}

#[test]
fn a_configuration_of_another_kind_or_with_owners_is_a_bad_request() {
    let live = thing(json!({}));
    let attempt = |config: Value| {
        apply(
            &TestVersions::default(),
            &manager("one", T1),
            Some(&live),
            &config,
            false,
        )
    };
    let mut other = thing(json!({}));
    other["apiVersion"] = json!("apps/v1beta1");
    assert_eq!(
        attempt(other),
        Err(ApplyError::BadRequest(
            "invalid object type: apps/v1beta1, Kind=Thing".to_owned()
        ))
    );
    let config = thing(json!({"metadata": {"name": "a", "managedFields": []}}));
    assert_eq!(
        attempt(config),
        Err(ApplyError::BadRequest("metadata.managedFields must be nil".to_owned()))
    );
    let config = thing(json!({"metadata": {"name": "a", "managedFields": null}}));
    assert!(attempt(config).is_ok());
}

#[test]
fn applying_the_same_again_changes_nothing_at_all() {
    let config =
        json!({"data": {"x": "1"}, "spec": {"ports": [{"port": 80}], "selector": {"a": "b"}, "free": {"a": [1]}}});
    let live = applied("one", T1, &stored(thing(json!({}))), config.clone());
    assert_eq!(applied("one", T2, &live, config), live);
}

#[test]
fn an_empty_list_and_a_list_of_nothing_reset_the_owners() {
    let live = created("one", T1, json!({"data": {"x": "1"}}));
    for reset in [json!([]), json!([{}])] {
        let mut new = live.clone();
        new["metadata"]["managedFields"] = reset;
        let object = update(&TestVersions::default(), &manager("two", T2), Some(&live), new);
        assert_eq!(owners(&object), Value::Null);
    }
    let mut new = live.clone();
    new["metadata"]["managedFields"] = json!([{"manager": "x", "operation": "Nonsense"}]);
    let object = update(&TestVersions::default(), &manager("two", T2), Some(&live), new);
    assert_eq!(
        owners(&object),
        owners(&live),
        "owners that cannot be read are those of the live object"
    );
}

#[test]
fn an_object_without_owners_gets_none_before_its_first_apply() {
    let live = stored(thing(json!({"data": {"x": "1"}})));
    let mut new = live.clone();
    new["data"]["x"] = json!("2");
    let live = update(&TestVersions::default(), &manager("two", T2), Some(&live), new);
    assert_eq!(owners(&live), Value::Null);
    let object = applied("one", T3, &live, json!({"data": {"y": "1"}}));
    let expected = json!([
        entry("one", "Apply", T3, json!({"f:data": {"f:y": {}}})),
        entry(
            "before-first-apply",
            "Update",
            T3,
            json!({"f:data": {".": {}, "f:x": {}}})
        ),
    ]);
    assert_eq!(owners(&object), expected);
}

#[test]
fn of_more_than_ten_updaters_the_oldest_become_ancient_changes() {
    let mut live = created("manager-00", "2026-01-01T00:00:00Z", json!({"data": {"k00": "x"}}));
    for index in 1..13 {
        let mut new = live.clone();
        new["data"][format!("k{index:02}")] = json!("x");
        let (name, time) = (format!("manager-{index:02}"), format!("2026-01-01T00:00:{index:02}Z"));
        live = update(&TestVersions::default(), &manager(&name, &time), Some(&live), new);
    }
    let managers = owners(&live).as_array().cloned().expect("a list");
    assert_eq!(managers.len(), 10);
    let fields = json!({"f:data": {".": {}, "f:k00": {}, "f:k01": {}, "f:k02": {}, "f:k03": {}}});
    assert_eq!(
        managers[0],
        entry("ancient-changes", "Update", "2026-01-01T00:00:03Z", fields)
    );
}

#[test]
fn owners_at_another_version_are_compared_there_and_owners_at_a_lost_version_forgotten() {
    let mut live = created("one", T1, json!({"spec": {"replicas": 1}, "data": {"x": "1"}}));
    let old = &mut live["metadata"]["managedFields"];
    old[0]["apiVersion"] = json!("v2");
    old[0]["fieldsV1"] = json!({"f:data": {".": {}, "f:x": {}}, "f:spec": {"f:count": {}}});
    let lost = json!({"manager": "gone", "operation": "Update", "apiVersion": "v0", "fieldsType": "FieldsV1",
        "fieldsV1": {"f:data": {"f:x": {}}}});
    old.as_array_mut().expect("a list").push(lost);
    let mut new = live.clone();
    new["spec"]["replicas"] = json!(2);
    let object = update(&TestVersions::default(), &manager("two", T2), Some(&live), new);
    let mut first = entry("one", "Update", T1, json!({"f:data": {".": {}, "f:x": {}}}));
    first["apiVersion"] = json!("v2");
    let expected = json!([first, entry("two", "Update", T2, json!({"f:spec": {"f:replicas": {}}}))]);
    assert_eq!(owners(&object), expected);
}

#[test]
fn an_applier_that_changes_version_still_removes_what_it_dropped() {
    let live = applied(
        "one",
        T1,
        &stored(thing(json!({}))),
        json!({"spec": {"replicas": 3, "paused": true}}),
    );
    let things = TestVersions::default();
    let live_v2 = super::Versions::convert(&things, &live, "v2").expect("converts");
    let config = json!({"apiVersion": "v2", "kind": "Thing", "metadata": {"name": "a"}, "spec": {"paused": true}});
    let author = FieldManager {
        api_version: "v2",
        ..manager("one", T2)
    };
    let object = apply(&things, &author, Some(&live_v2), &config, false).expect("applies");
    assert_eq!(object["spec"], json!({"paused": true}));
    assert_eq!(owners(&object)[0]["apiVersion"], json!("v2"));
    assert_eq!(owners(&object).as_array().map(Vec::len), Some(1));
}

#[test]
fn subresources_have_entries_of_their_own_and_own_only_their_part() {
    let live = created("one", T1, json!({"spec": {"replicas": 1}}));
    let mut new = live.clone();
    new["status"] = json!({"ready": 1});
    new["metadata"]["labels"] = json!({"a": "b"});
    new["metadata"]["managedFields"] = json!([]);
    let things = TestVersions {
        filter: Some(crate::FieldFilter::exclude(&["spec", "metadata.labels"])),
        ..TestVersions::default()
    };
    let status = FieldManager {
        subresource: "status",
        ..manager("one", T2)
    };
    let object = update(&things, &status, Some(&live), new);
    let mut second = entry("one", "Update", T2, json!({"f:status": {".": {}, "f:ready": {}}}));
    second["subresource"] = json!("status");
    assert_eq!(
        owners(&object),
        json!([
            entry("one", "Update", T1, json!({"f:spec": {"f:replicas": {}}})),
            second
        ])
    );
    let Err(ApplyError::Conflict(conflicts)) = apply(
        &TestVersions::default(),
        &manager("two", T3),
        Some(&object),
        &thing(json!({"status": {"ready": 2}})),
        false,
    ) else {
        panic!("expected a conflict");
    };
    assert_eq!(
        conflicts.message(),
        r#"Apply failed with 1 conflict: conflict with "one" with subresource "status" using v1: .status.ready"#
    );
}

#[test]
fn what_became_atomic_is_owned_as_a_whole() {
    let mut live = created("one", T1, json!({"spec": {"selector": {"a": "b"}, "replicas": 1}}));
    live["metadata"]["managedFields"][0]["fieldsV1"] =
        json!({"f:spec": {"f:replicas": {}, "f:selector": {"f:a": {}}, "f:args": {"i:0": {}}}});
    let mut new = live.clone();
    new["spec"]["replicas"] = json!(2);
    let object = update(&TestVersions::default(), &manager("two", T2), Some(&live), new);
    assert_eq!(
        owners(&object)[0]["fieldsV1"],
        json!({"f:spec": {"f:args": {}, "f:selector": {}}})
    );
}

#[test]
fn kubectl_takes_over_from_its_client_side_apply_and_keeps_the_annotation_in_step() {
    let annotation = "kubectl.kubernetes.io/last-applied-configuration";
    let last =
        r#"{"apiVersion":"v1","kind":"Thing","metadata":{"annotations":{},"name":"a"},"data":{"x":"1","y":"1"}}"#;
    let live = created(
        "kubectl-client-side-apply",
        T1,
        json!({
            "metadata": {"name": "a", "annotations": {annotation: last}},
            "data": {"x": "1", "y": "1"},
        }),
    );
    let config = thing(json!({"data": {"x": "<2>"}}));
    let object = apply(
        &TestVersions::default(),
        &manager("kubectl", T2),
        Some(&live),
        &config,
        false,
    )
    .expect("taken over");
    assert_eq!(object["data"]["x"], json!("<2>"));
    let text = "{\"apiVersion\":\"v1\",\"data\":{\"x\":\"\\u003c2\\u003e\"},\"kind\":\"Thing\",\"metadata\":{\"name\":\"a\",\
                \"namespace\":\"n\"}}\n";
    assert_eq!(object["metadata"]["annotations"][annotation], json!(text));
    let mut changed = live.clone();
    changed["data"]["x"] = json!("by hand");
    let changed = update(&TestVersions::default(), &manager("someone", T2), Some(&live), changed);
    let refused = apply(
        &TestVersions::default(),
        &manager("kubectl", T2),
        Some(&changed),
        &config,
        false,
    );
    assert_eq!(
        refused.map_err(|error| error.to_string()),
        Err(r#"Apply failed with 1 conflict: conflict with "someone" using v1: .data.x"#.to_owned())
    );
    let refused = apply(
        &TestVersions::default(),
        &manager("other", T2),
        Some(&live),
        &config,
        false,
    );
    assert!(
        matches!(refused, Err(ApplyError::Conflict(_))),
        "only kubectl's own manager takes over"
    );
}

#[test]
fn owners_of_a_no_op_keep_their_times() {
    let old = created("one", T1, json!({"data": {"x": "1"}}));
    let mut new = old.clone();
    new["metadata"]["managedFields"][0]["time"] = json!(T2);
    keep_times_of_a_no_op(&old, &mut new);
    assert_eq!(new, old);
    let mut changed = old.clone();
    changed["metadata"]["managedFields"][0]["time"] = json!(T2);
    changed["data"]["x"] = json!("2");
    let expected = changed.clone();
    keep_times_of_a_no_op(&old, &mut changed);
    assert_eq!(changed, expected);
}

#[test]
fn very_many_submitted_owners_are_no_burden() {
    let live = created("one", T1, json!({"data": {"x": "1"}}));
    let mut new = live.clone();
    let many = (0..20_000).map(|index| {
        let mut owner = entry(
            &format!("m{index}"),
            "Update",
            T1,
            json!({"f:data": {format!("f:k{index}"): {}}}),
        );
        owner["apiVersion"] = json!(if index % 2 == 0 { "v1" } else { "v2" });
        owner
    });
    new["metadata"]["managedFields"] = many.collect();
    let object = update(&TestVersions::default(), &manager("one", T2), Some(&live), new);
    assert_eq!(owners(&object).as_array().map(Vec::len), Some(10));
}

/// What the API server 1.36 said about a Deployment that was created with one container, one port and one variable.
#[test]
fn a_created_deployment_is_owned_as_the_api_server_says() {
    let string = json!({"scalar": "string"});
    let whole = json!({"fields": {}});
    let container = json!({"fields": {
        "name": string, "image": string, "imagePullPolicy": string, "terminationMessagePath": string, "resources": whole,
        "env": {"items": {"fields": {"name": string, "value": string}}, "keys": ["name"]},
        "ports": {"items": {"fields": {"containerPort": {"scalar": "number"}, "protocol": string}},
            "keys": ["containerPort", "protocol"]},
    }});
    let v1 = test_type(json!({"fields": {
        "apiVersion": string, "kind": string, "metadata": metadata_type(), "status": whole,
        "spec": {"fields": {
            "replicas": {"scalar": "number"},
            "selector": {"fields": {"matchLabels": {"entries": string}}, "atomic": true},
            "strategy": {"fields": {"type": string, "rollingUpdate": {"fields": {"maxSurge": {"scalar": "any"}}}}},
            "template": {"fields": {"metadata": metadata_type(), "spec": {"fields": {
                "containers": {"items": container, "keys": ["name"]}, "securityContext": whole, "dnsPolicy": string,
            }}}},
        }},
    }}));
    let zero = json!({"apiVersion": "v1", "kind": "Thing", "metadata": {}, "status": {}, "spec": {
        "selector": null, "strategy": {}, "template": {"metadata": {}, "spec": {"containers": null}},
    }});
    let things = TestVersions {
        v1,
        zero: Some(zero),
        ..TestVersions::default()
    };
    let object = thing(json!({
        "metadata": {"name": "a", "labels": {"a": "b"}},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": {"a": "b"}},
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%"}},
            "template": {
                "metadata": {"labels": {"a": "b"}},
                "spec": {
                    "containers": [{
                        "name": "c", "image": "x", "imagePullPolicy": "Always", "terminationMessagePath": "/dev/termination-log",
                        "ports": [{"containerPort": 80, "protocol": "TCP"}], "env": [{"name": "E", "value": "1"}],
                        "resources": {},
                    }],
                    "securityContext": {}, "dnsPolicy": "ClusterFirst",
                },
            },
        },
        "status": {},
    }));
    let fields = json!({
        "f:metadata": {"f:labels": {".": {}, "f:a": {}}},
        "f:spec": {
            "f:replicas": {}, "f:selector": {},
            "f:strategy": {"f:rollingUpdate": {".": {}, "f:maxSurge": {}}, "f:type": {}},
            "f:template": {
                "f:metadata": {"f:labels": {".": {}, "f:a": {}}},
                "f:spec": {
                    "f:containers": {"k:{\"name\":\"c\"}": {
                        ".": {},
                        "f:env": {".": {}, "k:{\"name\":\"E\"}": {".": {}, "f:name": {}, "f:value": {}}},
                        "f:image": {}, "f:imagePullPolicy": {}, "f:name": {},
                        "f:ports": {
                            ".": {},
                            "k:{\"containerPort\":80,\"protocol\":\"TCP\"}": {
                                ".": {}, "f:containerPort": {}, "f:protocol": {},
                            },
                        },
                        "f:resources": {}, "f:terminationMessagePath": {},
                    }},
                    "f:dnsPolicy": {}, "f:securityContext": {},
                },
            },
        },
    });
    let object = update(&things, &manager("creator", T1), None, object);
    assert_eq!(owners(&object), json!([entry("creator", "Update", T1, fields)]));
}
