//! The work on custom resources: define a kind with 40 fields and five rules, then create, get, patch, apply and list.

use std::time::{Duration, Instant};

use http::Method;

use crate::client::Failure;
use crate::endpoint::Endpoint;
use crate::work::{NAMESPACE, list_rate, one, rate};

const DEFINITION: &str = include_str!("../data/shop-crd.yaml");
const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
/// How long a server may take until it serves a new definition.
const PATIENCE: Duration = Duration::from_mins(1);
/// How long the benchmark waits after a new definition, so that a server's work on it (documents, informers) is not part of the rates.
const SETTLING: Duration = Duration::from_secs(3);

/// The figures of one server for custom resources.
pub(crate) struct CustomFigures {
    /// From sending the definition to the first accepted object.
    pub(crate) served: Duration,
    pub(crate) create: f64,
    pub(crate) get: f64,
    pub(crate) patch: f64,
    pub(crate) apply: f64,
    pub(crate) list: f64,
}

pub(crate) async fn all(endpoint: &Endpoint, objects: usize, clients: usize) -> Result<CustomFigures, Failure> {
    let served = define(endpoint).await?;
    tokio::time::sleep(SETTLING).await;
    let create = rate(endpoint, objects, clients, |i| {
        (Method::POST, shops(), "application/json", shop(i, "bench"))
    })
    .await?;
    let get = rate(endpoint, objects, clients, |i| {
        (Method::GET, path(i), "", String::new())
    })
    .await?;
    let patch = rate(endpoint, objects, clients, |i| {
        let body = format!(r#"{{"spec":{{"description":"patched {i}","replicas":5,"debug":true}}}}"#);
        let target = format!("{}?fieldManager=bench", path(i));
        (Method::PATCH, target, "application/merge-patch+json", body)
    })
    .await?;
    // Each apply sends the whole object, as a user who keeps it in a repository does.
    let apply = rate(endpoint, objects, clients, |i| {
        let target = format!("{}?fieldManager=applier&force=true", path(i));
        (
            Method::PATCH,
            target,
            "application/apply-patch+yaml",
            shop(i, "applied"),
        )
    })
    .await?;
    let list = list_rate(endpoint, &shops(), objects).await?;
    Ok(CustomFigures {
        served,
        create,
        get,
        patch,
        apply,
        list,
    })
}

/// Writes the definition and tries to create an object of its kind until that succeeds.
async fn define(endpoint: &Endpoint) -> Result<Duration, Failure> {
    let began = Instant::now();
    one(
        endpoint,
        Method::POST,
        DEFINITIONS,
        "application/yaml",
        DEFINITION.into(),
    )
    .await?;
    loop {
        let body = shop(usize::MAX, "first");
        match one(endpoint, Method::POST, &shops(), "application/json", body).await {
            Ok(_) => break,
            Err(error) if began.elapsed() > PATIENCE => return Err(error),
            Err(_) => tokio::time::sleep(Duration::from_millis(1)).await,
        }
    }
    let taken = began.elapsed();
    one(endpoint, Method::DELETE, &path(usize::MAX), "", String::new()).await?;
    Ok(taken)
}

fn shops() -> String {
    format!("/apis/bench.example.com/v1/namespaces/{NAMESPACE}/shops")
}

fn path(i: usize) -> String {
    format!("{}/shop-{i}", shops())
}

/// A custom resource of ordinary size.
fn shop(i: usize, owner: &str) -> String {
    format!(
        r#"{{"apiVersion":"bench.example.com/v1","kind":"Shop",
"metadata":{{"name":"shop-{i}","labels":{{"app":"bench","number":"n{i}"}}}},
"spec":{{"image":"registry.example.com/shop","tag":"1.2.{i}","replicas":3,"maxReplicas":10,"tier":"gold","owner":"{owner}",
"description":"The quick brown fox jumps over the lazy dog.","storageClass":"fast","storageGigabytes":20,"ratio":0.5,
"maxSurge":"25%","startAfter":"2026-01-02T03:04:05Z","hosts":["shop-{i}.example.com","www.shop-{i}.example.com"],
"arguments":["--verbose","--cache=/var/cache"],"nodeLabels":{{"disk":"ssd","zone":"a"}},
"ports":[{{"name":"http","port":80,"targetPort":8080}},{{"name":"metrics","port":9090,"targetPort":"metrics"}}],
"resources":{{"cpu":"500m","memory":"1Gi"}},"probe":{{"path":"/healthz","periodSeconds":5}},
"backup":{{"enabled":true,"schedule":"0 3 * * *"}}}}}}"#
    )
}

#[cfg(test)]
mod tests {
    use kubewright_codec::yaml;
    use serde_json::Value;

    use super::DEFINITION;

    fn fields(schema: &Value) -> usize {
        let properties = schema["properties"].as_object().into_iter().flatten();
        let own: usize = properties.map(|(_, property)| 1 + fields(property)).sum();
        let below = ["items", "additionalProperties"].map(|name| schema.get(name).map_or(0, fields));
        own + below.iter().sum::<usize>()
    }

    #[test]
    fn the_definition_has_forty_fields_and_five_rules() {
        let definition = yaml::decode(DEFINITION.as_bytes()).expect("it is YAML").value;
        let schema = &definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"];
        assert_eq!(fields(&schema["spec"]) + fields(&schema["status"]), 40);
        let rules = schema["spec"]["x-kubernetes-validations"].as_array();
        assert_eq!(rules.map(Vec::len), Some(5));
    }
}
