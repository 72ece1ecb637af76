//! Creates of `ConfigMaps` while ten `ValidatingAdmissionPolicies` look at each of them, and all of them hold.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use http::Method;
use serde_json::{Value, json};

use crate::client::Failure;
use crate::endpoint::Endpoint;
use crate::report::number;
use crate::work::{NAMESPACE, config_map, make_namespace, one, rate, request};

const GROUP: &str = "/apis/admissionregistration.k8s.io/v1";
const CONFIG_MAPS: &str = "/api/v1/namespaces/bench/configmaps";
const POLICIES: usize = 10;
/// How long policies may take to be in effect.
const PATIENCE: Duration = Duration::from_secs(30);
const POLL: Duration = Duration::from_millis(100);

/// How often servers take turns when nothing but policies is measured.
const TURNS: usize = 5;

/// What policies cost each of the servers, as a table: creates without and with them. The servers take turns, so that all of them have
/// their share of what else the machine does; a figure is the middle one of all turns.
pub(crate) async fn table(servers: &[(&str, Endpoint)], objects: usize, clients: usize) -> Result<String, Failure> {
    for (_, endpoint) in servers {
        make_namespace(endpoint).await?;
    }
    let mut figures = vec![(Vec::new(), Vec::new()); servers.len()];
    for _ in 0..TURNS {
        for ((_, endpoint), (without, under)) in servers.iter().zip(&mut figures) {
            without.push(create_configmaps(endpoint, objects, clients).await?);
            one(endpoint, Method::DELETE, CONFIG_MAPS, "application/json", String::new()).await?;
            under.push(create_rate(endpoint, objects, clients).await?);
        }
    }
    let mut text =
        String::from("| | create | create under ten admission policies | one costs more by |\n|---|---:|---:|---:|");
    for ((name, _), (without, under)) in servers.iter().zip(figures) {
        let (without, under) = (middle(without), middle(under));
        let added = (1.0 / under - 1.0 / without) * 1e6;
        let _ = write!(
            text,
            "\n| {name} | {} /s | {} /s | {} µs |",
            number(without),
            number(under),
            number(added)
        );
    }
    Ok(text)
}

fn middle(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}

/// Creates per second under the policies. They are gone afterwards, and so are the objects.
pub(crate) async fn create_rate(endpoint: &Endpoint, objects: usize, clients: usize) -> Result<f64, Failure> {
    for index in 0..POLICIES {
        for (plural, object) in [
            ("validatingadmissionpolicies", policy(index)),
            ("validatingadmissionpolicybindings", binding(index)),
        ] {
            let path = format!("{GROUP}/{plural}");
            one(endpoint, Method::POST, &path, "application/json", object.to_string()).await?;
        }
    }
    until_in_effect(endpoint).await?;
    let create = create_configmaps(endpoint, objects, clients).await?;
    for index in 0..POLICIES {
        for plural in ["validatingadmissionpolicybindings", "validatingadmissionpolicies"] {
            let path = format!("{GROUP}/{plural}/{}", name(index));
            one(endpoint, Method::DELETE, &path, "", String::new()).await?;
        }
    }
    one(endpoint, Method::DELETE, CONFIG_MAPS, "application/json", String::new()).await?;
    Ok(create)
}

async fn create_configmaps(endpoint: &Endpoint, objects: usize, clients: usize) -> Result<f64, Failure> {
    rate(endpoint, objects, clients, |index| {
        (Method::POST, CONFIG_MAPS.into(), "application/json", config_map(index))
    })
    .await
}

fn name(index: usize) -> String {
    format!("bench-{index}")
}

/// What policies of clusters ask: labels, keys, sizes, a variable, the user. Each refuses a `ConfigMap` that has its own key.
fn policy(index: usize) -> Value {
    let key = format!("refused-by-{index}");
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy", "metadata": { "name": name(index) },
        "spec": {
            "failurePolicy": "Fail",
            "matchConstraints": {
                "namespaceSelector": { "matchLabels": { "kubernetes.io/metadata.name": NAMESPACE } },
                "resourceRules": [{
                    "operations": ["CREATE", "UPDATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"],
                }],
            },
            "variables": [{ "name": "keys", "expression": "object.data.size()" }],
            "validations": [
                { "expression": format!("!('{key}' in object.data)"), "message": key },
                { "expression": "object.metadata.?labels.app.orValue('bench') == 'bench'" },
                { "expression": "variables.keys < 10 && object.data.all(k, object.data[k].size() < 1000)" },
                { "expression": "request.userInfo.username != 'nobody'" },
            ],
        },
    })
}

fn binding(index: usize) -> Value {
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": { "name": name(index) },
        "spec": { "policyName": name(index), "validationActions": ["Deny"] },
    })
}

/// The real server knows of a policy a second or two after it was written: each of them has to refuse something first.
async fn until_in_effect(endpoint: &Endpoint) -> Result<(), Failure> {
    let deadline = Instant::now() + PATIENCE;
    let mut client = endpoint.open().await?;
    for index in 0..POLICIES {
        let wrong = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "generateName": "refused-" },
            "data": { format!("refused-by-{index}"): "" },
        });
        let path = format!("{CONFIG_MAPS}?dryRun=All");
        loop {
            let create = request(endpoint, Method::POST, &path, "application/json", wrong.to_string())?;
            match client.send(create).await {
                Err(refusal) if refusal.to_string().contains("ValidatingAdmissionPolicy") => break,
                Err(failure) => return Err(failure),
                Ok(_) if Instant::now() > deadline => return Err("a policy never refused anything".into()),
                Ok(_) => tokio::time::sleep(POLL).await,
            }
        }
    }
    Ok(())
}
