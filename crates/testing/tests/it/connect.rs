//! Connections to Pods, as a test answers them.

use http::Request;
use kubewright_testing::TestEnv;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

const POD: &str = "{apiVersion: v1, kind: Pod, metadata: {name: web}, spec: {containers: [{name: app, image: a}]}}";

#[kubewright_testing::test(virtual_time)]
async fn a_port_of_a_pod_is_what_the_test_says() {
    let env = TestEnv::builder().embedded().start().await;
    env.apply(POD).await;
    env.settle().await;
    let path = format!("/api/v1/namespaces/{}/pods/web:8008/proxy/role", env.namespace());
    let ask = async || {
        let request = Request::get(&path).body(Vec::new()).unwrap();
        env.kube().request_text(request).await
    };
    let refusal = ask().await.unwrap_err().to_string();
    assert!(
        refusal.contains("are simulated") && refusal.contains("on_connect"),
        "{refusal}"
    );
    env.on_connect("web", 8008, |mut connection| async move {
        let mut asked = [0; 4096];
        let read = connection.read(&mut asked).await.unwrap_or_default();
        let role = if asked[..read].starts_with(b"GET /role ") {
            "primary"
        } else {
            "unknown"
        };
        let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{role}", role.len());
        let _ = connection.write_all(answer.as_bytes()).await;
    })
    .await;
    assert_eq!(ask().await.unwrap(), "primary");
}
