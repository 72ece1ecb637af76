//! One object in the versions that serve it.

use std::path::Path;

use kubewright_kinds::{autoscaling::convert, events};
use serde_json::Value;

/// The shown versions of each case of a file.
fn shown(file: &str) -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("recorded/conversions")
        .join(file);
    let text = std::fs::read_to_string(path).expect("a readable recording");
    let cases: Vec<Value> = serde_json::from_str(&text).expect("a recording is a JSON list");
    assert!(!cases.is_empty());
    cases.iter().map(|case| case["shown"].clone()).collect()
}

#[test]
fn the_two_forms_of_an_event_convert_into_each_other() {
    for event in shown("event.json") {
        let (core, own) = (&event["v1"], &event["events.k8s.io/v1"]);
        assert_eq!(events::to_events(core), *own);
        assert_eq!(events::to_core(own), *core);
    }
}

#[test]
fn the_two_versions_of_an_autoscaler_convert_into_each_other() {
    for autoscaler in shown("horizontal-pod-autoscaler.json") {
        let (old, stored) = (&autoscaler["autoscaling/v1"], &autoscaler["autoscaling/v2"]);
        assert_eq!(convert::v2_to_v1(stored), *old);
        assert_eq!(convert::v1_to_v2(old), *stored);
    }
}
