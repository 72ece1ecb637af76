//! What a burst leaves behind: the memory of a server before, during and a minute after large definitions were created and deleted.

use std::fmt::Write as _;
use std::time::Duration;

use http::Method;
use serde_json::{Map, Value, json};

use crate::client::Failure;
use crate::endpoint::Endpoint;
use crate::peer::Peer;
use crate::report::number;
use crate::work::one;

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
/// How many definitions there are, and the fields of each, in groups.
const COUNT: usize = 6;
const GROUPS: usize = 120;
const FIELDS_OF_GROUP: usize = 100;
/// How long a server may take to serve a definition, or to forget it.
const WITHIN: Duration = Duration::from_mins(1);
const SETTLING: Duration = Duration::from_mins(1);

/// Measures servers one after another.
pub(crate) async fn table(servers: &[(&str, &Peer)]) -> Result<String, Failure> {
    let mut text = format!(
        "| {COUNT} definitions with {} fields | before | the most | a minute after |\n|---|---:|---:|---:|",
        GROUPS * FIELDS_OF_GROUP
    );
    for (name, peer) in servers {
        eprintln!("bench: a burst for {name} …");
        let before = peer.memory();
        burst(&Endpoint::Tls(peer.credentials.clone())).await?;
        let highest = peer.highest_memory();
        tokio::time::sleep(SETTLING).await;
        let after = peer.memory();
        let megabytes = |bytes: u64| number(bytes as f64 / 1e6);
        let _ = write!(
            text,
            "\n| {name} | {} MB | {} MB | {} MB ({:.2}×) |",
            megabytes(before),
            megabytes(highest),
            megabytes(after),
            after as f64 / before.max(1) as f64
        );
    }
    Ok(text)
}

/// Creates the definitions, waits until each is served, and deletes them.
async fn burst(endpoint: &Endpoint) -> Result<(), Failure> {
    for number in 0..COUNT {
        let body = definition(number).to_string();
        one(endpoint, Method::POST, DEFINITIONS, "application/json", body).await?;
        let path = format!("/apis/burst.example.com/v1/{}", plural(number));
        until(endpoint, &path, true).await?;
    }
    for number in 0..COUNT {
        let path = format!("{DEFINITIONS}/{}.burst.example.com", plural(number));
        one(endpoint, Method::DELETE, &path, "application/json", String::new()).await?;
        until(endpoint, &path, false).await?;
    }
    Ok(())
}

/// Waits until something is there, or no longer is.
async fn until(endpoint: &Endpoint, path: &str, there: bool) -> Result<(), Failure> {
    let waiting = async {
        while one(endpoint, Method::GET, path, "", String::new()).await.is_ok() != there {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    let in_time = tokio::time::timeout(WITHIN, waiting).await;
    in_time.map_err(|_| format!("{path} did not come or go within a minute").into())
}

fn plural(number: usize) -> String {
    format!("bursts{number}")
}

/// A definition of about 0.7 MB.
fn definition(number: usize) -> Value {
    let group = |group: usize| {
        let fields: Map<String, Value> = (0..FIELDS_OF_GROUP)
            .map(|field| {
                (
                    format!("field{group}x{field}"),
                    json!({ "type": "string", "maxLength": 100 + field }),
                )
            })
            .collect();
        json!({ "type": "object", "properties": fields })
    };
    let groups: Map<String, Value> = (0..GROUPS).map(|at| (format!("group{at}"), group(at))).collect();
    let schema = json!({ "type": "object", "properties": { "spec": { "type": "object", "properties": groups } } });
    let (plural, kind) = (plural(number), format!("Burst{number}"));
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": { "name": format!("{plural}.burst.example.com") },
        "spec": {
            "group": "burst.example.com",
            "scope": "Cluster",
            "names": { "plural": plural, "singular": plural, "kind": kind, "listKind": format!("{kind}List") },
            "versions": [{ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": schema } }],
        },
    })
}
