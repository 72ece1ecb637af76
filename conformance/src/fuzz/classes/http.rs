//! Requests that are not what they should be: methods, paths, headers, and bodies down to their bytes.

use base64::Engine;
use base64::prelude::BASE64_STANDARD as BASE64;
use serde_json::{Value, json};

use super::Parts;
use crate::fuzz::built_ins;
use crate::fuzz::generated::Step;
use crate::fuzz::random::Choices;

const ACCEPTS: [&str; 20] = [
    "application/json",
    "application/yaml",
    "application/json;q=0.5, application/yaml",
    "application/json;as=Table;g=meta.k8s.io;v=v1",
    "application/json;as=Table;g=meta.k8s.io;v=v2",
    "application/json;as=Table;g=meta.k8s.io",
    "application/json;as=Nonsense;g=meta.k8s.io;v=v1",
    "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
    "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
    "text/html",
    "text/*",
    "*/*",
    "application/*",
    "nonsense",
    "application/json; charset=utf-8",
    "application/json;pretty=1",
    "application/vnd.kubernetes.protobuf;stream=watch, application/json",
    "application/cbor",
    "application/json;stream=watch",
    ", ,",
];

const CONTENT_TYPES: [&str; 14] = [
    "application/json",
    "application/yaml",
    "application/json; charset=utf-8",
    "application/json;charset=latin1",
    "text/plain",
    "application/x-www-form-urlencoded",
    "nonsense",
    "application/",
    "application/merge-patch+json",
    "application/json-patch+json",
    "application/apply-patch+yaml",
    "application/apply-patch+cbor",
    "application/cbor",
    "application/strategic-merge-patch+json; charset=utf-8",
];

const BODIES: [&str; 34] = [
    "",
    " ",
    "{",
    "{}",
    "[]",
    "null",
    "\"x\"",
    "1",
    "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\"}",
    "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"t\"}} trailing",
    "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"t\"}}{\"apiVersion\":\"v1\"}",
    "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"t\"},\"data\":{\"a\":\"1\",\"a\":\"2\"}}",
    "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"t\"},\"data\":{\"a\":1e400}}",
    "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"t\",\"generation\":1.5}}",
    "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"t\",\"generation\":99999999999999999999}}",
    "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"t\"},\"data\":{\"a\":\"\\ud800\"}}",
    "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"t\"},\"data\":{\"a\":\"\\u0000\"}}",
    "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"Metadata\":{\"name\":\"t\"},\"DATA\":{\"a\":\"b\"}}",
    "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"t\"},\"data\":{\"a\":\"b\",}}",
    "{'apiVersion':'v1','kind':'ConfigMap','metadata':{'name':'t'}}",
    "{\"apiVersion\":\"v2\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"t\"}}",
    "{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":{\"name\":\"t\"}}",
    "{\"apiVersion\":\"example.com/v1\",\"kind\":\"Thing\",\"metadata\":{\"name\":\"t\"}}",
    "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMapList\",\"items\":[]}",
    "{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":[{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"t\"}}]}",
    "{\"apiVersion\":1,\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"t\"}}",
    "{\"apiVersion\":\"a/b/c\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"t\"}}",
    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: t}\n",
    "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: t}\n---\nkind: x\n",
    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: t}\ndata: {a: &x b, c: *x}\n",
    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: t}\ndata: {a: yes, b: 0x10, c: 1_000, d: ~}\n",
    "apiVersion: v1\nkind: ConfigMap\nmetadata:\n\tname: t\n",
    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: t, name: u}\n",
    "metadata: {name: t",
];

const QUERIES: [&str; 10] = [
    "",
    "",
    "",
    "?pretty=true",
    "?fieldValidation=Strict",
    "?dryRun=All",
    "?timeout=1x",
    "?timeout=10s",
    "?fieldManager=",
    "?a=%zz",
];

pub(super) fn http(choices: &mut Choices) -> Parts {
    let given = vec![json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"k": "v"}})];
    let count = 6 + choices.below(8);
    let steps = (0..count).map(|_| match choices.below(4) {
        0 => body_of_text(choices).into(),
        1 => body_of_bytes(choices).into(),
        2 => negotiated(choices).into(),
        _ => misdirected(choices).into(),
    });
    (given, steps.collect())
}

const COLLECTION: &str = "/api/v1/namespaces/${ns}/configmaps";

fn body_of_text(choices: &mut Choices) -> Step {
    let query = choices.word(&QUERIES);
    let text = choices.word(&BODIES);
    let step = match choices.below(4) {
        0..=1 => Step::new("POST", &format!("{COLLECTION}{query}")),
        2 => Step::new("PUT", &format!("{COLLECTION}/t{query}")),
        _ => Step::new("PATCH", &format!("{COLLECTION}/a{query}")),
    };
    let patch = Value::from(step.clone())["request"]
        .as_str()
        .is_some_and(|line| line.starts_with("PATCH"));
    let contents: &[&str] = if patch {
        &["json-patch", "merge-patch", "strategic-patch", "apply", "json"]
    } else {
        &["json", "json", "yaml", "merge-patch"]
    };
    let step = step.text(choices.word(contents), text);
    if choices.percent(20) {
        return step.header("Content-Type", choices.word(&CONTENT_TYPES));
    }
    step
}

/// A manifest as text, of which some bytes are changed, taken out or put in.
fn body_of_bytes(choices: &mut Choices) -> Step {
    let built_in = built_ins::any(choices, true);
    let mut bytes = built_in
        .manifest
        .to_string()
        .replace("${ns}", "ns")
        .replace("${unique}", "u")
        .into_bytes();
    for _ in 0..=choices.below(3) {
        if bytes.is_empty() {
            break;
        }
        let at = choices.below(bytes.len());
        let odd = *choices.pick(&[
            0_u8, 0xff, 0xc3, b'"', b'{', b'}', b'\\', b',', b':', b'\n', b'9', b' ', 0x1f, b'[',
        ]);
        match choices.below(4) {
            0 => bytes[at] = odd,
            1 => bytes.insert(at, odd),
            2 => drop(bytes.remove(at)),
            _ => bytes.truncate(at.max(1)),
        }
    }
    let content = choices.word(&["json", "json", "json", "yaml"]);
    Step::new("POST", &format!("{}?dryRun=All", built_in.collection()))
        .with("as", json!(content))
        .with("bytes", json!(BASE64.encode(bytes)))
}

fn negotiated(choices: &mut Choices) -> Step {
    let path = choices.word(&[
        COLLECTION,
        "/api/v1/namespaces/${ns}/configmaps/a",
        "/api/v1/namespaces/${ns}/configmaps/none",
        "/api/v1/namespaces/${ns}",
        "/api",
        "/apis/apps",
    ]);
    let method = choices.weighted(&[(80, "GET"), (10, "HEAD"), (5, "DELETE"), (5, "OPTIONS")]);
    // A namespace that goes away would take the rest of the case with it.
    let method = if method == "DELETE" && !path.contains("configmaps/a") {
        "GET"
    } else {
        method
    };
    let step = Step::new(method, path).header("Accept", choices.word(&ACCEPTS));
    if choices.percent(15) {
        step.header("Accept-Encoding", choices.word(&["gzip", "identity", "br", "*"]))
    } else {
        step
    }
}

fn misdirected(choices: &mut Choices) -> Step {
    let path = choices.word(&[
        "/",
        "/api",
        "/api/",
        "/api/v1",
        "/api/v1/",
        "/api/v2",
        "/apis/none/v1/things",
        "/apis/apps/v1/namespaces/${ns}/deployments/none/scale",
        "/apis/apps/v1/namespaces/${ns}/deployments/none/nonsense",
        "/api/v1/namespaces/${ns}/configmaps/a/status",
        "/api/v1/namespaces/${ns}/configmaps/a/b/c",
        "/api/v1/namespaces/${ns}/configmaps/",
        "/api/v1/namespaces/${ns}/nodes",
        "/api/v1/configmaps/a",
        "/api/v1/namespaces//configmaps",
        "/api/v1/watch/namespaces/${ns}/configmaps/none?timeoutSeconds=0&resourceVersion=x",
        "/api/v1/namespaces/UPPER/configmaps/a",
        "/api/v1/namespaces/${ns}/configmaps/%41",
        "/api/v1/namespaces/${ns}/pods/none/log",
        "/api/v1/namespaces/${ns}/pods/none/exec",
        "/healthz/none",
        "/openapi/v3/none",
        "/nonsense",
    ]);
    let method = choices.weighted(&[
        (40, "GET"),
        (15, "POST"),
        (15, "PUT"),
        (15, "PATCH"),
        (5, "DELETE"),
        (5, "HEAD"),
        (5, "PURGE"),
    ]);
    let step = Step::new(method, path);
    match method {
        "POST" | "PUT" => step.body(
            "json",
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": choices.word(&["a", "b", ""])}}),
        ),
        "PATCH" => step.body(
            choices.word(&["merge-patch", "json-patch", "strategic-patch", "apply"]),
            json!({"data": {"k": "w"}}),
        ),
        _ => step,
    }
}
