//! Options that a kube-apiserver has as flags: admission plugins, timeouts and keys. Certificates are in `tls`.

use std::time::Duration;

use bytes::Bytes;
use http::StatusCode;
use http_body_util::BodyExt as _;
use kubewright_apiserver::{AdmissionPlugin, ApiServer, Options, ServiceAccountTokens};
use kubewright_system::certificates;
use serde_json::{Value, json};

async fn post(server: &ApiServer, path: &str, object: &Value) -> (StatusCode, Value) {
    let request = http::Request::post(path)
        .header("content-type", "application/json")
        .body(object.to_string().into())
        .unwrap();
    let response = server.handle(request).await;
    let status = response.status();
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    (status, serde_json::from_slice(&bytes).unwrap())
}

fn pod() -> Value {
    json!({ "metadata": { "name": "web" }, "spec": { "containers": [{ "name": "web", "image": "nginx" }] } })
}

const PODS: &str = "/api/v1/namespaces/default/pods";

fn toleration_limits(default: &Value) -> Value {
    json!({
        "apiVersion": "podtolerationrestriction.admission.k8s.io/v1alpha1", "kind": "Configuration",
        "default": default, "whitelist": [{"key": "ours", "operator": "Exists"}, {"operator": "Exists", "effect": "NoExecute"}],
    })
}

#[tokio::test]
async fn tolerations_of_the_cluster_are_those_of_its_configuration() {
    let limits = toleration_limits(&json!([{"key": "ours", "operator": "Exists"}]));
    let plugin = AdmissionPlugin::PodTolerationRestriction;
    let options = Options::new().admission(plugin, true);
    let server = ApiServer::new(options.configure_admission(plugin, &limits).unwrap());
    let (code, made) = post(&server, PODS, &pod()).await;
    assert_eq!(code, 201, "{made}");
    let tolerations = made["spec"]["tolerations"].as_array().unwrap();
    assert!(
        tolerations.contains(&json!({"key": "ours", "operator": "Exists"})),
        "{made}"
    );
    let mut other = pod();
    other["metadata"]["name"] = "other".into();
    other["spec"]["tolerations"] = json!([{"key": "theirs", "operator": "Exists", "effect": "NoSchedule"}]);
    let (code, refused) = post(&server, PODS, &other).await;
    assert_eq!(code, 500);
    let message = refused["message"].as_str().unwrap();
    assert!(message.ends_with("conflict with its cluster whitelist"), "{message}");

    let wrong = toleration_limits(&json!([{"operator": "Sometimes", "key": "a"}]));
    let error = Options::new().configure_admission(plugin, &wrong).unwrap_err();
    let message = error.to_string();
    assert!(
        message.starts_with(
            "invalid config: [podtolerationrestriction.default[0].operator: Unsupported value: \"Sometimes\""
        ),
        "{message}"
    );
}

#[tokio::test]
async fn a_plugin_that_is_off_changes_and_refuses_nothing() {
    let (_, usual) = post(&ApiServer::new(Options::new()), PODS, &pod()).await;
    assert_eq!(usual["spec"]["priority"], 0);
    assert_eq!(usual["spec"]["tolerations"][0]["tolerationSeconds"], 300);
    let options = Options::new()
        .admission(AdmissionPlugin::Priority, false)
        .default_toleration_seconds(7, 8);
    let (_, changed) = post(&ApiServer::new(options), PODS, &pod()).await;
    assert_eq!(changed["spec"]["priority"], Value::Null);
    let seconds: Vec<_> = [0, 1]
        .map(|at: usize| &changed["spec"]["tolerations"][at]["tolerationSeconds"])
        .to_vec();
    assert_eq!(seconds, [&json!(7), &json!(8)]);
    let none = AdmissionPlugin::ALL
        .into_iter()
        .fold(Options::new(), |options, plugin| options.admission(plugin, false));
    let (_, bare) = post(&ApiServer::new(none), PODS, &pod()).await;
    assert_eq!(bare["spec"]["tolerations"], Value::Null);
}

/// Asks for a certificate of a user in the group `system:masters`.
const REQUEST_OF_MASTERS: &str = "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlIak1JR0tBZ0VBTUNneEZ6QVZCZ05WQkFvTURuTjVjM1JsYlRwdFlYTjBaWEp6TVEwd0N3WURWUVFEREFSeQpiMjkwTUZrd0V3WUhLb1pJemowQ0FRWUlLb1pJemowREFRY0RRZ0FFd0VETWpFUkJWN3RnUFByL3NEK1JiTzhaCjRRMXJTWWpreDk1NUdkZ2pLN3dHbTYrZXJ2bEdjT1daVjFJaFpZMndteDBQT0drdVd5b2VFNVFXTVZZcHk2QUEKTUFvR0NDcUdTTTQ5QkFNQ0EwZ0FNRVVDSUZqb3JHV21lSlkwZ3JIWEtQN0R6b1BwbldMU0NGM0pmdFd2Z1lNSQprSXlaQWlFQWk1TFphdXNhWjJMQUpoa05nK2tXMTRIUWh5NklBS3ZXakZFeTVkUFJqMWc9Ci0tLS0tRU5EIENFUlRJRklDQVRFIFJFUVVFU1QtLS0tLQo=";

#[tokio::test]
async fn nobody_asks_for_a_certificate_of_the_masters_unless_the_plugin_is_off() {
    let asked = json!({
        "metadata": { "name": "root" },
        "spec": {
            "request": REQUEST_OF_MASTERS, "signerName": "kubernetes.io/kube-apiserver-client", "usages": ["client auth"],
        },
    });
    let path = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
    for (is_on, expected) in [(true, StatusCode::FORBIDDEN), (false, StatusCode::CREATED)] {
        let options = Options::new().admission(AdmissionPlugin::CertificateSubjectRestriction, is_on);
        assert_eq!(
            post(&ApiServer::new(options), path, &asked).await.0,
            expected,
            "{is_on}"
        );
    }
}

#[tokio::test]
async fn who_approves_and_signs_certificates_needs_rights_unless_the_plugins_are_off() {
    for (plugin, part, condition) in [
        (AdmissionPlugin::CertificateApproval, "approval", "Approved"),
        (AdmissionPlugin::CertificateSigning, "status", "Failed"),
    ] {
        for (is_on, expected) in [(true, StatusCode::FORBIDDEN), (false, StatusCode::OK)] {
            let server = ApiServer::new(Options::new().admission(plugin, is_on));
            let rights = [
                (
                    "clusterroles",
                    json!({
                        "metadata": { "name": "approver" },
                        "rules": [{
                            "apiGroups": ["certificates.k8s.io"], "resources": [format!("certificatesigningrequests/{part}")],
                            "verbs": ["patch"],
                        }],
                    }),
                ),
                (
                    "clusterrolebindings",
                    json!({
                        "metadata": { "name": "approver" },
                        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "approver" },
                        "subjects": [{ "apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "jane" }],
                    }),
                ),
            ];
            for (collection, object) in &rights {
                let path = format!("/apis/rbac.authorization.k8s.io/v1/{collection}");
                assert_eq!(post(&server, &path, object).await.0, StatusCode::CREATED);
            }
            let requests = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
            let asked = json!({
                "metadata": { "name": "c" },
                "spec": { "request": REQUEST_OF_MASTERS, "signerName": "example.com/signer", "usages": ["client auth"] },
            });
            assert_eq!(post(&server, requests, &asked).await.0, StatusCode::CREATED);
            let condition = json!({ "type": condition, "status": "True", "reason": "R" });
            let request = http::Request::patch(format!("{requests}/c/{part}"))
                .header("content-type", "application/merge-patch+json")
                .header("impersonate-user", "jane")
                .body(json!({ "status": { "conditions": [condition] } }).to_string().into())
                .unwrap();
            let answer = server.handle(request).await;
            assert_eq!(answer.status(), expected, "{plugin:?} {is_on}");
        }
    }
}

#[tokio::test]
async fn webhooks_are_not_called_if_their_plugin_is_off() {
    for (kind, plugin) in [
        (
            "validatingwebhookconfigurations",
            AdmissionPlugin::ValidatingAdmissionWebhook,
        ),
        (
            "mutatingwebhookconfigurations",
            AdmissionPlugin::MutatingAdmissionWebhook,
        ),
    ] {
        let configuration = json!({
            "metadata": { "name": "down" },
            "webhooks": [{
                "name": "down.example.com",
                "admissionReviewVersions": ["v1"],
                "sideEffects": "None",
                "timeoutSeconds": 1,
                "clientConfig": { "url": "https://127.0.0.1:1/" },
                "rules": [{ "apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"] }],
            }],
        });
        for (is_on, expected) in [(true, StatusCode::INTERNAL_SERVER_ERROR), (false, StatusCode::CREATED)] {
            let server = ApiServer::new(Options::new().admission(plugin, is_on));
            let path = format!("/apis/admissionregistration.k8s.io/v1/{kind}");
            assert_eq!(post(&server, &path, &configuration).await.0, StatusCode::CREATED);
            assert_eq!(post(&server, PODS, &pod()).await.0, expected, "{kind} {is_on}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_watch_ends_within_twice_the_time_that_it_lasts_at_least() {
    let server = ApiServer::new(Options::new().watch_timeout(Duration::from_secs(5)));
    let begin = tokio::time::Instant::now();
    let request = http::Request::get("/api/v1/pods?watch=true")
        .body(Bytes::default())
        .unwrap();
    let body = server.handle(request).await.into_body();
    body.collect().await.unwrap();
    let lasted = begin.elapsed().as_secs_f64();
    assert!((5.0..=10.1).contains(&lasted), "{lasted}");
}

#[tokio::test]
async fn a_token_of_one_server_is_good_at_another_with_its_public_key() {
    let (public, private) = certificates::key_pair().unwrap();
    let tokens = || ServiceAccountTokens::new().issuers(["https://issuer.example.com"]);
    let issues = ApiServer::new(Options::new().service_account_tokens(tokens().signing_key(&private).unwrap()));
    let accepts = ApiServer::new(Options::new().service_account_tokens(tokens().verification_keys(&public).unwrap()));
    let accounts = "/api/v1/namespaces/default/serviceaccounts";
    post(&issues, accounts, &json!({ "metadata": { "name": "robot" } })).await;
    let (_, answer) = post(&issues, &format!("{accounts}/robot/token"), &json!({})).await;
    let token = answer["status"]["token"].as_str().unwrap();
    assert_eq!(answer["spec"]["audiences"], json!(["https://issuer.example.com"]));
    // The account is another one there: its signature is right, and it is not the one of the claims.
    post(&accepts, accounts, &json!({ "metadata": { "name": "robot" } })).await;
    let review = json!({ "spec": { "token": token } });
    let (_, answer) = post(&accepts, "/apis/authentication.k8s.io/v1/tokenreviews", &review).await;
    let why = answer["status"]["error"].as_str().unwrap();
    assert!(why.contains("service account UID"), "{why}");
}
