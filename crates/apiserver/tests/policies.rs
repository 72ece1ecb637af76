//! What an admission policy that has nothing against a write costs it. Counted, not timed.
//!
//! A program of its own: counting replaces the allocator of the whole program.

use http::StatusCode;
use kubewright_apiserver::{ApiServer, Options};
use serde_json::{Value, json};

const WRITES: u64 = 50;
const POLICIES: &str = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies";
const BINDINGS: &str = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings";

/// What policies of clusters ask: labels, keys, sizes, a variable, the user.
fn policy(name: &str) -> Value {
    json!({
        "metadata": { "name": name },
        "spec": {
            "failurePolicy": "Fail",
            "matchConstraints": {
                "namespaceSelector": { "matchLabels": { "kubernetes.io/metadata.name": "default" } },
                "resourceRules": [{
                    "operations": ["CREATE", "UPDATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"],
                }],
            },
            "variables": [{ "name": "keys", "expression": "object.data.size()" }],
            "validations": [
                { "expression": format!("!('{name}' in object.data)") },
                { "expression": "object.metadata.?labels.app.orValue('web') == 'web'" },
                { "expression": "variables.keys < 10 && object.data.all(k, object.data[k].size() < 1000)" },
                { "expression": "request.userInfo.username != 'nobody'" },
            ],
        },
    })
}

fn binding(name: &str) -> Value {
    json!({ "metadata": { "name": name }, "spec": { "policyName": name, "validationActions": ["Deny"] } })
}

async fn post(server: &ApiServer, path: &str, object: &Value) {
    let request = http::Request::post(path).header("content-type", "application/json");
    let response = server.handle(request.body(object.to_string().into()).unwrap()).await;
    assert_eq!(response.status(), StatusCode::CREATED);
}

/// How often a create asks the allocator on a server with so many policies.
fn count(policies: usize) -> u64 {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let server = ApiServer::new(Options::new().seed(1));
    runtime.block_on(async {
        for index in 0..policies {
            let name = format!("policy-{index}");
            post(&server, POLICIES, &policy(&name)).await;
            post(&server, BINDINGS, &binding(&name)).await;
        }
    });
    let create = |number: u64| {
        let object = json!({
            "metadata": { "name": format!("object-{number}"), "labels": { "app": "web" } },
            "data": { "a": "1", "b": "2" },
        });
        runtime.block_on(post(&server, "/api/v1/namespaces/default/configmaps", &object));
    };
    // What is made once is not counted.
    create(WRITES);
    let counted = allocation_counter::measure(|| (0..WRITES).for_each(create));
    counted.count_total / WRITES
}

#[test]
fn ten_more_policies_cost_a_create_a_few_allocations_each() {
    let (one, eleven) = (count(1), count(11));
    let each = (eleven - one) / 10;
    println!(
        "{} without, {one} with one, {eleven} with eleven: {each} each",
        count(0)
    );
    assert!(each <= 3, "{each} for each policy");
}
