//! `ServiceAccount` admission, for servers that have it on (A2).

use kubewright_apiserver::{ApiServer, Options};
use serde_json::{Value, json};

use super::support::{Answer, send};

const PODS: &str = "/api/v1/namespaces/default/pods";
const ACCOUNTS: &str = "/api/v1/namespaces/default/serviceaccounts";

async fn post(server: &ApiServer, path: &str, body: Value) -> Answer {
    send(server, "POST", path, "application/json", body).await
}

fn pod(spec: &Value) -> Value {
    let mut pod = json!({ "metadata": { "name": "p" }, "spec": { "containers": [{ "name": "c", "image": "i" }] } });
    for (key, value) in spec.as_object().into_iter().flatten() {
        pod["spec"][key] = value.clone();
    }
    pod
}

#[tokio::test]
async fn a_pod_runs_as_an_account_with_its_token_and_its_pull_secrets() {
    let server = ApiServer::new(Options::new().service_account_admission(true));
    let missing = post(&server, PODS, pod(&Value::Null)).await;
    assert_eq!(
        (missing.code, missing.message()),
        (
            403,
            "pods \"p\" is forbidden: error looking up service account default/default: serviceaccount \"default\" not \
             found"
        )
    );
    let account = json!({ "metadata": { "name": "default" }, "imagePullSecrets": [{ "name": "s" }] });
    assert_eq!(post(&server, ACCOUNTS, account).await.code, 201);
    let made = post(&server, PODS, pod(&Value::Null)).await;
    assert_eq!(made.code, 201, "{made:?}");
    let spec = &made.body["spec"];
    assert_eq!(spec["serviceAccountName"], "default");
    assert_eq!(spec["imagePullSecrets"], json!([{ "name": "s" }]));
    let mount = &spec["containers"][0]["volumeMounts"][0];
    assert_eq!(mount["mountPath"], "/var/run/secrets/kubernetes.io/serviceaccount");
    assert_eq!(mount["name"], spec["volumes"][0]["name"]);
    let sources = &spec["volumes"][0]["projected"]["sources"];
    assert_eq!(
        sources[0]["serviceAccountToken"],
        json!({ "path": "token", "expirationSeconds": 3607 })
    );
}

#[tokio::test]
async fn the_pod_says_first_whether_a_token_is_mounted() {
    for (of_account, of_pod, mounted) in [
        (Value::Null, Value::Null, true),
        (json!(false), Value::Null, false),
        (json!(false), json!(true), true),
        (json!(true), json!(false), false),
    ] {
        let server = ApiServer::new(Options::new().service_account_admission(true));
        let account = json!({ "metadata": { "name": "default" }, "automountServiceAccountToken": of_account });
        post(&server, ACCOUNTS, account).await;
        let made = post(&server, PODS, pod(&json!({ "automountServiceAccountToken": of_pod }))).await;
        let found = made.body["spec"].get("volumes").is_some();
        assert_eq!(found, mounted, "{of_account} {of_pod}");
    }
}

#[tokio::test]
async fn secrets_that_an_account_does_not_know_can_be_kept_from_its_pods() {
    let server = ApiServer::new(Options::new().service_account_admission(true));
    let account = json!({ "metadata": { "name": "default",
        "annotations": { "kubernetes.io/enforce-mountable-secrets": "true" } } });
    post(&server, ACCOUNTS, account).await;
    let volume = json!({ "volumes": [{ "name": "v", "secret": { "secretName": "s" } }] });
    let refused = post(&server, PODS, pod(&volume)).await;
    assert_eq!(
        refused.message(),
        "pods \"p\" is forbidden: volume with secret.secretName=\"s\" is not allowed because service account default \
         does not reference that secret"
    );
}

#[tokio::test]
async fn it_is_off_unless_asked_for() {
    let server = ApiServer::new(Options::new());
    let made = post(&server, PODS, pod(&Value::Null)).await;
    assert_eq!(made.code, 201);
    assert_eq!(made.body["spec"].get("serviceAccountName"), None);
}
