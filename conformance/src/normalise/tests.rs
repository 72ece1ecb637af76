use std::path::PathBuf;

use serde_json::json;

use super::*;

fn normalised(source: &str, steps: Value) -> Value {
    let file = CaseFile {
        path: PathBuf::new(),
        id: String::new(),
        source: source.to_owned(),
        title: String::new(),
        covers: Vec::new(),
        names: BTreeMap::new(),
        given: Vec::new(),
        webhooks: Value::Null,
        extensions: Value::Null,
        every_plugin: false,
        alone: false,
        pods: Value::Null,
        steps: Vec::new(),
        variants: Vec::new(),
    };
    let Value::Array(steps) = steps else {
        panic!("steps are an array")
    };
    let played = PlayedCase {
        steps,
        failure: None,
        namespace: "case-xabc".to_owned(),
        unique: "unique-xabc".to_owned(),
        places: vec![("127.0.0.1:4444".to_owned(), "<webhook>".to_owned())],
    };
    transcript(&file, &Variant::default(), &played)
}

#[test]
fn versions_of_objects_keep_their_order_and_equality() {
    let steps = json!([
        {"body": {"metadata": {"resourceVersion": "900"}}},
        {"body": {"metadata": {"resourceVersion": "1000"}}},
        {"body": {"metadata": {"resourceVersion": "900"}}}
    ]);
    let versions: Vec<_> = normalised("", steps)
        .as_array()
        .unwrap()
        .iter()
        .map(|step| step["body"]["metadata"]["resourceVersion"].clone())
        .collect();
    assert_eq!(versions, ["<rv-1>", "<rv-2>", "<rv-1>"]);
}

#[test]
fn a_lists_version_says_which_writes_it_includes_and_no_more() {
    let list = |version: &str| json!({"body": {"kind": "PodList", "metadata": {"resourceVersion": version}, "items": [{"metadata": {"resourceVersion": "10"}}]}});
    let expected = json!({"kind": "PodList", "metadata": {"resourceVersion": "<rv-1+>"}, "items": [{"metadata": {"resourceVersion": "<rv-1>"}}]});
    for version in ["10", "17"] {
        assert_eq!(normalised("", json!([list(version)]))[0]["body"], expected);
    }
}

#[test]
fn a_bookmark_is_a_snapshot() {
    let frames = json!([{"frames": [
        {"type": "ADDED", "object": {"metadata": {"resourceVersion": "5"}}},
        {"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": "9"}}}
    ]}]);
    let normalised = normalised("", frames);
    assert_eq!(
        normalised[0]["frames"][0]["object"]["metadata"]["resourceVersion"],
        "<rv-1>"
    );
    assert_eq!(
        normalised[0]["frames"][1]["object"]["metadata"]["resourceVersion"],
        "<rv-1+>"
    );
}

#[test]
fn what_the_case_wrote_stays() {
    let body = json!({"metadata": {"resourceVersion": "99999", "creationTimestamp": "2001-01-01T00:00:00Z", "uid": "0a0a0a0a-0000-4000-8000-000000000000"}});
    let source = "GET ?resourceVersion=99999 2001-01-01T00:00:00Z 0a0a0a0a-0000-4000-8000-000000000000";
    assert_eq!(normalised(source, json!([{"body": body}]))[0]["body"], body);
}

#[test]
fn equal_uids_get_equal_placeholders_even_in_keys() {
    let (one, two) = (
        "11111111-2222-4333-8444-555555555555",
        "21111111-2222-4333-8444-555555555555",
    );
    let fields = normalised(
        "",
        json!([{"body": {"a": one, "b": two, "k:{\"uid\":\"X\"}".replace('X', one): {}}}]),
    );
    assert_eq!(
        fields[0]["body"],
        json!({"a": "<uid-1>", "b": "<uid-2>", "k:{\"uid\":\"<uid-1>\"}": {}})
    );
}

#[test]
fn a_generated_name_keeps_its_base_everywhere() {
    let steps = json!([
        {"body": {"metadata": {"generateName": "job-", "name": "job-x7k2p"}}},
        {"body": {"message": "pods \"job-x7k2p\" not found"}}
    ]);
    let steps = normalised("", steps);
    assert_eq!(steps[0]["body"]["metadata"]["name"], "job-<generated-1>");
    assert_eq!(steps[1]["body"]["message"], "pods \"job-<generated-1>\" not found");
}

#[test]
fn versions_in_messages_are_versions() {
    let steps = json!([{"body": {"message": "Too large resource version: 777777, current: 42"}}]);
    assert_eq!(
        normalised("?resourceVersion=777777", steps)[0]["body"]["message"],
        "Too large resource version: 777777, current: <rv-0+>"
    );
}

#[test]
fn bulk_is_told_by_its_length() {
    let steps = json!([{"body": {"data": format!("a{}b", "x".repeat(5000))}}]);
    assert_eq!(normalised("", steps)[0]["body"]["data"], "a<x * 5000>b");
}

#[test]
fn an_allocated_address_is_one_wherever_it_is_told() {
    let steps = json!([
        {"body": {"spec": {"clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1"], "ports": [{"nodePort": 30123, "port": 80}]}}},
        {"body": {"message": "10.0.0.1 and 30123 are taken, 10.0.0.12 is free"}}
    ]);
    let steps = normalised("", steps);
    let spec =
        json!({"clusterIP": "<ip-1>", "clusterIPs": ["<ip-1>"], "ports": [{"nodePort": "<node-port-1>", "port": 80}]});
    assert_eq!(steps[0]["body"]["spec"], spec);
    assert_eq!(
        steps[1]["body"]["message"],
        "<ip-1> and <node-port-1> are taken, 10.0.0.12 is free"
    );
}

#[test]
fn the_webhook_process_is_named_wherever_it_is() {
    let message = "Post \"https://127.0.0.1:4444/unique-xabc/a?timeout=1s\": read tcp 127.0.0.1:5->127.0.0.1:4444: EOF";
    let told = normalised("title: x", json!([{"message": message}]));
    assert_eq!(
        told[0]["message"],
        "Post \"https://<webhook>/<unique>/a?timeout=1s\": read tcp <client>-><webhook>: EOF"
    );
}

#[test]
fn rules_of_a_review_have_no_order() {
    let review = |rules: Value| normalised("title: x", json!([{"status": {"resourceRules": rules}}]));
    let (one, other) = (json!({"verbs": ["get"]}), json!({"verbs": ["list"]}));
    assert_eq!(review(json!([one, other])), review(json!([other, one])));
}
