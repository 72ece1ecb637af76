//! Commands in containers, as a test answers them.

use std::time::Duration;

use http::{Request, StatusCode};
use http_body_util::BodyExt as _;
use hyper_util::rt::TokioIo;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Pod;
use kube::api::{Api, AttachParams, ListParams};
use kube::client::Body;
use kubewright_runtime::client::Patch;
use kubewright_runtime::controller::{Action, Controller, Failure, Request as Reconcile};
use kubewright_runtime::operator::{Operator, Rule};
use kubewright_testing::{ExecReply, TestEnv};
use serde_json::json;
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

/// What a program in a Pod prints, or why it is not known.
async fn said(pods: &Api<Pod>, pod: &str, program: &str) -> String {
    let asked = async {
        let mut process = pods
            .exec(pod, [program], &AttachParams::default().stderr(false))
            .await?;
        let mut text = String::new();
        if let Some(mut stdout) = process.stdout() {
            stdout.read_to_string(&mut text).await?;
        }
        let status = match process.take_status() {
            Some(status) => status.await,
            None => None,
        };
        Ok::<_, Failure>(match status.and_then(|status| status.message) {
            Some(message) => message,
            None => text,
        })
    };
    match tokio::time::timeout(Duration::from_secs(30), asked).await {
        Ok(Ok(text)) => text,
        Ok(Err(error)) => error.to_string(),
        Err(_) => "no answer".to_owned(),
    }
}

/// Asks every Pod of a Deployment for its role, and notes the answers at the Deployment.
fn asking() -> Operator {
    let controller = Controller::of::<Deployment>().reconcile_with(|context| {
        let client = context.client();
        move |request: Reconcile| {
            let client = client.clone();
            async move {
                let Some(deployment) = client.get_opt::<Deployment>(&request).await? else {
                    return Ok(Action::done());
                };
                let wanted = deployment.spec.as_ref().and_then(|spec| spec.replicas);
                let ready = deployment.status.as_ref().and_then(|status| status.ready_replicas);
                if ready != wanted {
                    return Ok(Action::requeue_after(Duration::from_secs(10)));
                }
                let pods: Api<Pod> = Api::namespaced(client.kube().clone(), request.namespace().unwrap_or_default());
                let selected = ListParams::default().labels(&format!("app={}", request.name()));
                let mut roles = Vec::new();
                for pod in pods.list(&selected).await? {
                    let name = pod.metadata.name.unwrap_or_default();
                    roles.push(format!("{name} {}", said(&pods, &name, "role").await));
                }
                let patch = Patch::Merge(json!({ "metadata": { "annotations": { "roles": roles.join("; ") } } }));
                client.patch::<Deployment>(&request, &patch).await?;
                Ok::<_, Failure>(Action::done())
            }
        }
    });
    Operator::new("asking")
        .controller(controller)
        .rule(Rule::new(["apps"], ["deployments"], ["patch"]))
        .rule(Rule::new([""], ["pods"], ["list"]))
        .rule(Rule::new([""], ["pods/exec"], ["get", "create"]))
}

const WEB: &str = "
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: app, image: a}]}
";

#[kubewright_testing::test(virtual_time)]
async fn an_operator_asks_the_pods_of_a_deployment() {
    let env = TestEnv::start(asking()).await;
    env.on_exec_selected("app=web", |run| {
        format!("says {} in {}", run.command[0], run.pod).into()
    })
    .await;
    env.apply(WEB).await;
    env.settle().await;
    let web = env.get::<Deployment>("web").await;
    let roles = &web.metadata.annotations.unwrap()["roles"];
    let pods = env.list::<Pod>().await;
    assert_eq!(pods.len(), 2);
    for pod in pods {
        let name = pod.metadata.name.as_deref().unwrap();
        assert!(roles.contains(&format!("{name} says role in {name}")), "{roles}");
    }
}

#[kubewright_testing::test(virtual_time)]
async fn a_command_fails_or_never_ends_if_the_test_says_so() {
    let env = TestEnv::builder().embedded().start().await;
    env.apply(WEB).await;
    env.settle().await;
    let pods: Api<Pod> = Api::namespaced(env.kube(), env.namespace());
    let names: Vec<String> = env
        .list::<Pod>()
        .await
        .iter()
        .map(|pod| pod.metadata.name.clone().unwrap())
        .collect();
    // What is answered for a name comes first, then what was said last.
    env.on_exec_selected("app in (web)", |_| "overruled".into()).await;
    env.on_exec_selected("app=web", |_| ExecReply::failed("no such program"))
        .await;
    env.on_exec_selected("app=other", |_| "of others".into()).await;
    env.on_exec(&names[1], |_| ExecReply::never().stdout("waiting")).await;
    let failed = said(&pods, &names[0], "role").await;
    assert!(failed.contains("no such program"), "{failed}");
    assert_eq!(said(&pods, &names[1], "role").await, "no answer");
    let refused = env.try_on_exec_selected("app in web", |_| ExecReply::new()).await;
    assert!(
        refused
            .unwrap_err()
            .to_string()
            .contains("the label selector \"app in web\"")
    );
}
