//! Commands in containers, as a test answers them.

use http::{Request, StatusCode};
use http_body_util::BodyExt as _;
use hyper_util::rt::TokioIo;
use kube::client::Body;
use kubewright_testing::{ExecReply, TestEnv};
use tokio::io::AsyncReadExt as _;

const POD: &str = "{apiVersion: v1, kind: Pod, metadata: {name: web}, spec: {containers: [{name: app, image: a}]}}";

/// What a client of the environment reads of a command, over a WebSocket as `kube::Api::exec` opens it, or why it may not run it.
async fn run(env: &TestEnv, command: &str) -> Result<String, String> {
    let namespace = env.namespace();
    let path = format!("/api/v1/namespaces/{namespace}/pods/web/exec?stdout=true&stderr=true{command}");
    let request = Request::get(path)
        .header("connection", "Upgrade")
        .header("upgrade", "websocket")
        .header("sec-websocket-version", "13")
        .header("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==")
        .header("sec-websocket-protocol", "v4.channel.k8s.io");
    let mut response = env.kube().send(request.body(Body::empty()).unwrap()).await.unwrap();
    if response.status() != StatusCode::SWITCHING_PROTOCOLS {
        let body = response.into_body().collect().await.unwrap().to_bytes();
        return Err(String::from_utf8_lossy(&body).into_owned());
    }
    let mut connection = TokioIo::new(hyper::upgrade::on(&mut response).await.unwrap());
    let mut bytes = Vec::new();
    connection.read_to_end(&mut bytes).await.unwrap();
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[kubewright_testing::test(virtual_time)]
async fn commands_are_answered_by_the_test() {
    let env = TestEnv::builder().embedded().start().await;
    env.apply(POD).await;
    env.settle().await;
    let refusal = run(&env, "&command=hostname").await.unwrap_err();
    assert!(
        refusal.contains("are simulated") && refusal.contains("on_exec"),
        "{refusal}"
    );
    env.on_exec("web", |run| match run.command[..] {
        [ref program] if program == "hostname" => run.container.as_str().into(),
        _ => ExecReply::new().stderr("what?").exit_code(2),
    })
    .await;
    let text = run(&env, "&command=hostname").await.unwrap();
    assert!(text.contains("app") && text.contains(r#""status":"Success""#), "{text}");
    let text = run(&env, "&command=rm&command=-rf").await.unwrap();
    assert!(
        text.contains("what?") && text.contains("terminated with exit code 2"),
        "{text}"
    );
}
