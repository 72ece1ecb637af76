//! What we write is accepted: by the embedded server at each run, by the real one when `record accepted` asked it.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use http_body_util::BodyExt as _;
use kubewright_apiserver::{ApiServer, Options};
use kubewright_codec::yaml;
use kubewright_manifests::definitions::{DefinitionOptions, Descriptions};
use serde_json::Value;

use super::{capabilities, options, recorded, rendered};

fn definitions() -> Vec<Value> {
    let all = capabilities::all();
    all.iter()
        .flat_map(|capability| rendered(&capability.operator, &options()))
        .collect()
}

fn name(definition: &Value) -> &str {
    definition["metadata"]["name"].as_str().unwrap_or_default()
}

/// What a server says to a definition: how it stored it, or why it did not.
async fn create(server: &ApiServer, definition: &Value) -> Result<Value, String> {
    let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions?fieldValidation=Strict";
    let request = http::Request::post(path)
        .header("content-type", "application/json")
        .body(definition.to_string().into())
        .unwrap();
    let answer = server.handle(request).await;
    let (status, warning) = (answer.status(), answer.headers().get("warning").cloned());
    let body = answer.into_body().collect().await.unwrap().to_bytes();
    let body: Value = serde_json::from_slice(&body).unwrap();
    match (status.as_u16(), warning) {
        (201, None) => Ok(body),
        (201, Some(warning)) => Err(format!("{warning:?}")),
        _ => Err(body["message"].as_str().unwrap_or_default().to_owned()),
    }
}

#[tokio::test]
async fn the_embedded_server_accepts_every_definition_strictly() {
    let mut server = ApiServer::new(Options::new());
    let mut known = BTreeSet::new();
    for definition in definitions() {
        // Some kinds are written in two ways; the second needs a server that has not seen the first.
        if !known.insert(name(&definition).to_owned()) {
            server = ApiServer::new(Options::new());
            known = BTreeSet::from([name(&definition).to_owned()]);
        }
        let stored = create(&server, &definition).await;
        let stored = stored.unwrap_or_else(|refusal| panic!("{}: {refusal}", name(&definition)));
        let conditions = stored["status"]["conditions"].as_array();
        let is_odd = |condition: &&Value| condition["type"] == "NonStructuralSchema";
        let odd = conditions.into_iter().flatten().find(is_odd);
        assert_eq!(odd, None, "{}", name(&definition));
    }
}

/// What controller-gen writes is not always accepted; who refuses it is the same.
#[tokio::test]
async fn the_embedded_server_refuses_what_the_real_one_refuses_of_controller_gen() {
    let server = ApiServer::new(Options::new());
    let mut refused = String::new();
    for set in capabilities::SETS {
        for definition in recorded::set(set) {
            if create(&server, &definition).await.is_err() {
                refused.push_str(name(&definition));
                refused.push('\n');
            }
        }
    }
    assert_eq!(
        fs::read_to_string(recorded::home().join("expected/refused.txt")).unwrap(),
        refused
    );
}

/// FNV-1a: the same number for the same text, in every build.
fn fingerprint(text: &str) -> String {
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{hash:016x}")
}

/// Of all but the words, which no server judges.
fn fingerprints() -> String {
    let options = DefinitionOptions {
        descriptions: Descriptions::Dropped,
        ..options()
    };
    let all = capabilities::all();
    let definitions = all
        .iter()
        .flat_map(|capability| rendered(&capability.operator, &options));
    let mut lines: Vec<String> = definitions
        .map(|definition| format!("{} {}\n", name(&definition), fingerprint(&yaml::encode(&definition))))
        .collect();
    lines.sort();
    lines.dedup();
    lines.concat()
}

/// Asked by `record accepted`, it writes out what the real server is to judge.
#[test]
fn the_real_server_accepted_these_very_definitions() {
    if let Some(folder) = std::env::var_os("KUBEWRIGHT_WRITE_DEFINITIONS").map(PathBuf::from) {
        for definition in definitions() {
            let text = yaml::encode(&definition);
            let file = format!("{}-{}.yaml", name(&definition), fingerprint(&text));
            fs::write(folder.join(file), text).unwrap();
        }
        fs::write(folder.join("fingerprints.txt"), fingerprints()).unwrap();
        return;
    }
    let accepted = fs::read_to_string(recorded::home().join("expected/accepted.txt")).unwrap();
    assert_eq!(accepted, fingerprints(), "run `tests/equivalence/record accepted`");
}
