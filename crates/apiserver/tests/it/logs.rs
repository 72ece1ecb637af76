//! `pods/log` as kubectl asks for it: whole, in part, followed, of the run before, and refused.
#![allow(clippy::needless_pass_by_value, reason = "fixtures read better so")]

use std::io::Write as _;
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt as _;
use http::Request;
use http_body_util::BodyExt as _;
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams};
use kubewright_apiserver::{ApiServer, Body, Options};
use serde_json::{Value, json};

fn pods(server: &ApiServer) -> Api<Pod> {
    Api::default_namespaced(server.client())
}

/// A server with a Pod on a node, whose containers are in these states.
async fn server_with(statuses: Value) -> ApiServer {
    let server = ApiServer::new(Options::new());
    let node = serde_json::from_value(json!({ "metadata": { "name": "n" } })).unwrap();
    let nodes: Api<Node> = Api::all(server.client());
    nodes.create(&PostParams::default(), &node).await.unwrap();
    let pod = json!({
        "metadata": { "name": "web" },
        "spec": { "nodeName": "n", "containers": [{ "name": "app", "image": "i" }, { "name": "side", "image": "i" }] },
    });
    pods(&server)
        .create(&PostParams::default(), &serde_json::from_value(pod).unwrap())
        .await
        .unwrap();
    set_statuses(&server, statuses).await;
    server
}

async fn set_statuses(server: &ApiServer, statuses: Value) {
    let patch = Patch::Merge(json!({ "status": { "containerStatuses": statuses } }));
    pods(server)
        .patch_status("web", &PatchParams::default(), &patch)
        .await
        .unwrap();
}

fn state(container: &str, state: Value, last: Value) -> Value {
    json!({
        "name": container, "image": "i", "imageID": "", "ready": false, "restartCount": 0, "state": state, "lastState": last,
    })
}

fn running() -> Value {
    json!([
        state("app", json!({ "running": {} }), json!({})),
        state("side", json!({ "running": {} }), json!({}))
    ])
}

async fn ask(server: &ApiServer, query: &str) -> http::Response<Body> {
    let path = format!("/api/v1/namespaces/default/pods/web/log{query}");
    server.handle(Request::get(path).body(Bytes::new()).unwrap()).await
}

async fn read(server: &ApiServer, query: &str) -> (u16, String) {
    let response = ask(server, query).await;
    let code = response.status().as_u16();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    (code, String::from_utf8(body.to_vec()).unwrap())
}

async fn refusal(server: &ApiServer, query: &str) -> (u16, String) {
    let (code, text) = read(server, query).await;
    let status: Value = serde_json::from_str(&text).unwrap();
    (code, status["message"].as_str().unwrap().to_owned())
}

/// Asked for in virtual time: a follower that should have ended fails the test instead of hanging it.
async fn in_time<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_mins(1), future).await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_log_is_read_in_the_part_that_is_asked_for() {
    let server = server_with(running()).await;
    let mut log = server.pod_log("default", "web", "app");
    writeln!(log, "one").unwrap();
    tokio::time::sleep(Duration::from_secs(100)).await;
    writeln!(log, "two\nthree").unwrap();
    for (query, text) in [
        ("?container=app", "one\ntwo\nthree\n"),
        ("?container=app&tailLines=1", "three\n"),
        ("?container=app&sinceSeconds=50", "two\nthree\n"),
        ("?container=app&limitBytes=5", "one\nt"),
        ("?container=app&tailLines=0", ""),
        ("?container=side", ""),
    ] {
        assert_eq!(read(&server, query).await, (200, text.to_owned()), "{query}");
    }
    let (_, stamped) = read(&server, "?container=app&tailLines=1&timestamps=true").await;
    let (time, line) = stamped.split_once(' ').unwrap();
    assert_eq!((time.len(), line), (30, "three\n"));
}

#[tokio::test(start_paused = true)]
async fn a_follower_reads_on_until_the_container_ends() {
    let server = server_with(running()).await;
    let mut log = server.pod_log("default", "web", "app");
    writeln!(log, "one").unwrap();
    let response = ask(&server, "?container=app&follow=true").await;
    assert_eq!(response.headers()["content-type"], "text/plain");
    let mut frames = response.into_body().into_data_stream();
    assert_eq!(in_time(frames.next()).await.unwrap().unwrap(), "one\n");
    let later = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        writeln!(log, "two").unwrap();
        log
    };
    let (frame, log) = tokio::join!(in_time(frames.next()), later);
    assert_eq!(frame.unwrap().unwrap(), "two\n");
    drop(log);
    assert!(in_time(frames.next()).await.is_none());
}

#[tokio::test(start_paused = true)]
async fn a_follower_of_what_nobody_writes_ends_with_the_container_or_the_pod() {
    let server = server_with(running()).await;
    server.set_pod_log("default", "web", "app", "set");
    let follow = async |container: &str| {
        let response = ask(&server, &format!("?container={container}&follow=true")).await;
        response.into_body()
    };
    let (app, side) = (follow("app").await.collect(), follow("side").await.collect());
    let ending = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        let ended = json!({ "terminated": { "exitCode": 0, "containerID": "simulated://1" } });
        let statuses = json!([
            state("app", ended, json!({})),
            state("side", json!({ "running": {} }), json!({}))
        ]);
        set_statuses(&server, statuses).await;
        tokio::time::sleep(Duration::from_secs(1)).await;
        let now = DeleteParams::default().grace_period(0);
        pods(&server).delete("web", &now).await.unwrap();
    };
    let (app, side, ()) = tokio::join!(in_time(app), in_time(side), ending);
    assert_eq!(app.unwrap().to_bytes(), "set\n");
    assert_eq!(side.unwrap().to_bytes(), "");
}

#[tokio::test(start_paused = true)]
async fn the_run_before_is_shown_on_request() {
    let server = server_with(running()).await;
    let refused = (
        400,
        "previous terminated container \"app\" in pod \"web\" not found".to_owned(),
    );
    writeln!(server.pod_log("default", "web", "app"), "first").unwrap();
    assert_eq!(refusal(&server, "?container=app&previous=true").await, refused);

    let ended = json!({ "terminated": { "exitCode": 1, "containerID": "process://1" } });
    let waiting = json!({ "waiting": { "reason": "CrashLoopBackOff" } });
    set_statuses(&server, json!([state("app", waiting, ended)])).await;
    for query in ["?container=app", "?container=app&previous=true"] {
        assert_eq!(read(&server, query).await, (200, "first\n".to_owned()), "{query}");
    }
    let mut second = server.pod_log("default", "web", "app");
    writeln!(second, "second").unwrap();
    set_statuses(&server, running()).await;
    assert_eq!(read(&server, "?container=app").await.1, "second\n");
    assert_eq!(
        read(&server, "?container=app&previous=true&follow=true").await.1,
        "first\n"
    );
}

#[tokio::test(start_paused = true)]
async fn a_container_that_never_ran_has_no_log() {
    let waiting = |reason: &str| json!({ "waiting": { "reason": reason } });
    for (reason, words) in [
        ("ContainerCreating", "is waiting to start: ContainerCreating"),
        ("ErrImagePull", "is waiting to start: image can't be pulled"),
        (
            "ImagePullBackOff",
            "is waiting to start: trying and failing to pull image",
        ),
    ] {
        let server = server_with(json!([state("app", waiting(reason), json!({}))])).await;
        let wanted = (400, format!("container \"app\" in pod \"web\" {words}"));
        assert_eq!(refusal(&server, "?container=app").await, wanted);
        let wanted = (400, "container \"side\" in pod \"web\" is not available".to_owned());
        assert_eq!(refusal(&server, "?container=side").await, wanted);
    }
}

#[tokio::test(start_paused = true)]
async fn a_node_that_is_not_there_cannot_be_asked() {
    let server = server_with(running()).await;
    let nodes: Api<Node> = Api::all(server.client());
    nodes.delete("n", &DeleteParams::default()).await.unwrap();
    let wanted = (404, "nodes \"n\" not found".to_owned());
    assert_eq!(refusal(&server, "?container=app").await, wanted);
}

#[tokio::test(start_paused = true)]
async fn one_of_several_containers_must_be_named() {
    let server = server_with(running()).await;
    assert_eq!(
        refusal(&server, "").await,
        (
            400,
            "a container name must be specified for pod web, choose one of: [app side]".to_owned()
        )
    );
    assert_eq!(
        refusal(&server, "?container=none").await,
        (400, "container none is not valid for pod web".to_owned())
    );
    let (code, message) = refusal(&server, "?container=app&sinceTime=yesterday").await;
    assert_eq!(code, 400);
    assert!(message.starts_with("parsing time \"yesterday\""), "{message}");
}

#[tokio::test(start_paused = true)]
async fn a_pod_takes_its_logs_along() {
    let server = server_with(running()).await;
    let mut log = server.pod_log("default", "web", "app");
    writeln!(log, "one").unwrap();
    let now = DeleteParams::default().grace_period(0);
    pods(&server).delete("web", &now).await.unwrap();
    writeln!(log, "two").unwrap();
    let pod = json!({ "metadata": { "name": "web" }, "spec": { "containers": [{ "name": "app", "image": "i" }] } });
    pods(&server)
        .create(&PostParams::default(), &serde_json::from_value(pod).unwrap())
        .await
        .unwrap();
    assert_eq!(ask(&server, "").await.status(), 204);
    // Nothing is kept for Pods that there are not.
    drop(server.pod_log("default", "none", "app"));
}

#[tokio::test(start_paused = true)]
async fn a_follower_whose_history_is_gone_reads_on_and_holds_nobody_up() {
    let server = server_with(running()).await;
    let mut log = server.pod_log("default", "web", "app");
    writeln!(log, "one").unwrap();
    let mut frames = ask(&server, "?container=app&follow=true")
        .await
        .into_body()
        .into_data_stream();
    assert_eq!(in_time(frames.next()).await.unwrap().unwrap(), "one\n");
    // Something happens that it has not looked at, and is forgotten.
    set_statuses(&server, running()).await;
    let patch = Patch::Merge(json!({ "metadata": { "labels": { "a": "b" } } }));
    pods(&server)
        .patch("web", &PatchParams::default(), &patch)
        .await
        .unwrap();
    server.compact();
    let later = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        writeln!(log, "two").unwrap();
        log
    };
    let (frame, log) = tokio::join!(in_time(frames.next()), later);
    assert_eq!(frame.unwrap().unwrap(), "two\n");
    drop(log);
    assert!(in_time(frames.next()).await.is_none());
}
