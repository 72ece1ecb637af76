//! Who may read the metrics of a manager, decided by the embedded server's reviews.

use k8s_openapi::api::authentication::v1::TokenRequest;
use k8s_openapi::api::core::v1::ServiceAccount;
use kube::api::{Api, PostParams};
use kubewright_apiserver::{ApiServer, Options, User};
use kubewright_runtime::operator::Operator;
use kubewright_runtime::serve::Certificates;
use kubewright_runtime::stop::Stopper;
use kubewright_test_support::free_port;
use serde_json::json;

use super::permissions::allow;
use super::support::{certificates, eventually, https};

async fn token(server: &ApiServer, name: &str) -> String {
    let accounts: Api<ServiceAccount> = Api::default_namespaced(server.client());
    let account: ServiceAccount = serde_json::from_value(json!({ "metadata": { "name": name } })).unwrap();
    accounts.create(&PostParams::default(), &account).await.unwrap();
    let request: TokenRequest = serde_json::from_value(json!({ "metadata": {}, "spec": { "audiences": [] } })).unwrap();
    let answer = accounts
        .create_token_request(name, &PostParams::default(), &request)
        .await
        .unwrap();
    answer.status.unwrap().token.unwrap()
}

#[tokio::test]
async fn metrics_are_for_those_whom_the_cluster_allows() {
    let server = ApiServer::new(Options::new());
    let operator = Operator::new("shop");
    let description = operator.describe();
    // The manager has what its description says it needs for this, and nothing else.
    let manager_account = User::service_account("default", "manager");
    allow(
        &server,
        "shop-metrics-auth",
        "manager",
        &description.metrics_auth_rules,
        None,
    )
    .await;
    let (unknown, reader) = (token(&server, "stranger").await, token(&server, "prometheus").await);
    allow(
        &server,
        "shop-metrics-reader",
        "prometheus",
        &description.metrics_reader_rules,
        None,
    )
    .await;

    let (folder, port) = (tempfile::tempdir().unwrap(), free_port());
    let (_, trusted) = certificates(folder.path());
    let shown = Certificates::from_folder(folder.path(), "tls.crt", "tls.key").unwrap();
    let manager = operator
        .manager()
        .unwrap()
        .metrics_address(format!("127.0.0.1:{port}").parse().unwrap())
        .secure_metrics(shown, false);
    let (stopper, stop) = Stopper::new();
    let running = tokio::spawn(manager.run(server.client_as(manager_account), stop));
    eventually(|| async {
        let reached = tokio::net::TcpStream::connect(("127.0.0.1", port)).await;
        reached.map(drop).map_err(|error| error.to_string())
    })
    .await;

    let get = |authorization: String| {
        let (trusted, request) = (
            trusted.clone(),
            format!("GET /metrics HTTP/1.1\r\nHost: localhost\r\n{authorization}Connection: close\r\n\r\n"),
        );
        async move { https(port, &trusted, request.as_bytes()).await }
    };
    let bearer = |token: &str| format!("Authorization: Bearer {token}\r\n");
    let (head, body) = get(String::new()).await;
    assert!(head.starts_with("HTTP/1.1 401 "), "{head}");
    assert_eq!(body, "Unauthorized\n");
    let (head, body) = get(bearer(&unknown)).await;
    assert!(head.starts_with("HTTP/1.1 403 "), "{head}");
    assert_eq!(
        body,
        "Authorization denied for user system:serviceaccount:default:stranger\n"
    );
    let (head, body) = get(bearer(&reader)).await;
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    assert!(body.contains("controller_runtime_webhook_panics_total 0\n"), "{body}");
    stopper.stop();
    running.await.unwrap().unwrap();
}
