//! Answers of the real server, in JSON and YAML: what one says must become what the other says, byte for byte.

use kubewright_codec::{json, yaml};
use serde_json::Value;

macro_rules! golden {
    ($name:literal) => {
        include_bytes!(concat!("../golden/", $name))
    };
}

fn value(document: &[u8]) -> Value {
    json::decode(document)
        .expect("the server answers well-formed JSON")
        .value
}

#[test]
fn a_config_map_is_written_as_the_server_writes_yaml() {
    let encoded = yaml::encode(&value(golden!("configmap.json")));
    assert_eq!(encoded, String::from_utf8_lossy(golden!("configmap.yaml")));
}

#[test]
fn a_deployment_is_written_as_the_server_writes_yaml() {
    let encoded = yaml::encode(&value(golden!("deployment.json")));
    assert_eq!(encoded, String::from_utf8_lossy(golden!("deployment.yaml")));
}

#[test]
fn what_the_server_writes_as_yaml_reads_as_what_it_writes_as_json() {
    for (yaml, json) in [
        (&golden!("configmap.yaml")[..], &golden!("configmap.json")[..]),
        (golden!("deployment.yaml"), golden!("deployment.json")),
    ] {
        assert_eq!(yaml::decode(yaml).map(|decoded| decoded.value), Ok(value(json)));
    }
}

#[test]
fn strings_are_escaped_as_the_server_escapes_them() {
    // The server writes fields in the order of its types, so only single strings can be compared.
    let data = value(golden!("configmap.json"));
    let text = String::from_utf8_lossy(golden!("configmap.json")).into_owned();
    for content in data["data"].as_object().expect("a ConfigMap has data").values() {
        let mut written = Vec::new();
        json::write(content, &mut written);
        let written = String::from_utf8(written).expect("JSON is UTF-8");
        assert!(text.contains(&written), "{written}");
    }
}

#[test]
fn indentation_is_that_of_the_server() {
    let mut out = Vec::new();
    json::indent(golden!("configmap.json").trim_ascii_end(), &mut out);
    assert_eq!(
        String::from_utf8_lossy(&out),
        String::from_utf8_lossy(golden!("configmap.pretty.json"))
    );
}
