//! Requests through `nodes/proxy`: what the kubelet of a simulated node answers, and that nothing else of a node is reached.

use std::io::Write as _;

use bytes::Bytes;
use http::Request;
use http_body_util::BodyExt as _;
use kubewright_apiserver::{ApiServer, ExecEnd, Options, User};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;

async fn send(server: &ApiServer, method: &str, path: &str, body: Value) -> (u16, String) {
    let kind = match method {
        "PATCH" => "application/merge-patch+json",
        _ => "application/json",
    };
    let request = Request::builder().method(method).uri(path).header("content-type", kind);
    let body = if body.is_null() {
        String::new()
    } else {
        body.to_string()
    };
    let response = server.handle(request.body(Bytes::from(body)).unwrap()).await;
    let code = response.status().as_u16();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    (code, String::from_utf8(body.to_vec()).unwrap())
}

async fn get(server: &ApiServer, path: &str) -> (u16, String) {
    send(server, "GET", path, Value::Null).await
}

async fn set_ready(server: &ApiServer, status: &str) {
    let conditions = json!([{ "type": "Ready", "status": status }]);
    let (code, said) = send(
        server,
        "PATCH",
        "/api/v1/nodes/n/status",
        json!({ "status": { "conditions": conditions } }),
    )
    .await;
    assert_eq!(code, 200, "{said}");
}

/// A server with a simulated node, on which is a Pod, and another one that is not there.
async fn server() -> ApiServer {
    let server = ApiServer::new(Options::new());
    let info = json!({
        "machineID": "", "systemUUID": "", "bootID": "", "kernelVersion": "", "osImage": "", "kubeletVersion": "",
        "kubeProxyVersion": "", "operatingSystem": "", "architecture": "", "containerRuntimeVersion": "simulated://1",
    });
    let addresses = json!([{ "type": "InternalIP", "address": "10.1.0.1" }, { "type": "Hostname", "address": "n" }]);
    let node = json!({ "metadata": { "name": "n" }, "status": { "nodeInfo": info, "addresses": addresses } });
    assert_eq!(send(&server, "POST", "/api/v1/nodes", node).await.0, 201);
    set_ready(&server, "True").await;
    for (name, node) in [("web", "n"), ("elsewhere", "other")] {
        let pod = json!({
            "metadata": { "name": name },
            "spec": { "nodeName": node, "containers": [{ "name": "app", "image": "i" }] },
        });
        assert_eq!(
            send(&server, "POST", "/api/v1/namespaces/default/pods", pod).await.0,
            201
        );
    }
    server
}

#[tokio::test]
async fn a_simulated_kubelet_tells_of_its_health_and_its_pods() {
    let server = server().await;
    for name in ["n", "n:10250", "https:n:10250", "https:n:"] {
        let path = format!("/api/v1/nodes/{name}/proxy/healthz");
        assert_eq!(get(&server, &path).await, (200, "ok".to_owned()), "{name}");
    }
    let (code, list) = get(&server, "/api/v1/nodes/n/proxy/pods").await;
    let list: Value = serde_json::from_str(&list).unwrap();
    assert_eq!((code, list["kind"].as_str()), (200, Some("PodList")));
    let names: Vec<_> = list["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|pod| &pod["metadata"]["name"])
        .collect();
    assert_eq!(names, ["web"]);
    assert_eq!(
        get(&server, "/api/v1/nodes/n/proxy/none").await,
        (404, "404 page not found\n".to_owned())
    );
    let (code, _) = send(&server, "POST", "/api/v1/nodes/n/proxy/pods", Value::Null).await;
    assert_eq!(code, 405);
}

#[tokio::test]
async fn a_simulated_kubelet_has_the_logs_of_its_pods_alone() {
    let server = server().await;
    let mut log = server.pod_log("default", "web", "app");
    log.write_all(b"one\ntwo\nthree\n").unwrap();
    let logs = "/api/v1/nodes/n/proxy/containerLogs/default";
    assert_eq!(
        get(&server, &format!("{logs}/web/app?tailLines=2")).await,
        (200, "two\nthree\n".to_owned())
    );
    for (path, why) in [
        ("elsewhere/app", "pod \"elsewhere\" does not exist"),
        ("none/app", "pod \"none\" does not exist"),
        ("web/none", "container \"none\" not found in pod \"web\""),
    ] {
        assert_eq!(get(&server, &format!("{logs}/{path}")).await, (404, why.to_owned()));
    }
}

#[tokio::test]
async fn a_simulated_kubelet_runs_commands_in_its_pods_alone() {
    let server = server().await;
    let run = async |path: &str| {
        send(
            &server,
            "POST",
            &format!("/api/v1/nodes/n/proxy/run/default/{path}"),
            Value::Null,
        )
        .await
    };
    let (code, said) = run("web/app?cmd=greet").await;
    assert_eq!(code, 500);
    assert!(said.contains("simulated"), "{said}");
    for pod in ["web", "elsewhere"] {
        server.on_exec("default", pod, |command, mut streams| async move {
            assert!(!command.stdin && !command.tty && command.stdin_ends);
            let _ = streams.stdout.write_all(command.command.join("+").as_bytes()).await;
            let _ = streams.stderr.write_all(b"!").await;
            ExecEnd::Exited(i32::from(command.command[0] == "fail"))
        });
    }
    assert_eq!(run("web/app?cmd=say%20hello").await, (200, "say+hello!".to_owned()));
    let failed = "command 'fail now' exited with 1: !".to_owned();
    assert_eq!(run("web/app?cmd=fail%20now").await, (500, failed));
    assert_eq!(
        run("elsewhere/app?cmd=say").await,
        (404, "pod does not exist".to_owned())
    );
    let (code, said) = run("web/another-uid/app?cmd=say").await;
    assert_eq!((code, said.as_str()), (500, "container not found (\"app\")"));
}

#[tokio::test]
async fn what_a_command_prints_beyond_what_runtimes_keep_is_thrown_away() {
    const PIECES: usize = 17 * 16;
    let server = server().await;
    server.on_exec("default", "web", |_, mut streams| async move {
        let piece = vec![b'x'; 64 * 1024];
        for _ in 0..PIECES {
            let _ = streams.stdout.write_all(&piece).await;
        }
        ExecEnd::Exited(0)
    });
    let (code, said) = send(
        &server,
        "POST",
        "/api/v1/nodes/n/proxy/run/default/web/app?cmd=a",
        Value::Null,
    )
    .await;
    assert_eq!((code, said.len()), (200, 16 * 1024 * 1024));
}

#[tokio::test]
async fn ports_are_forwarded_through_the_kubelet_of_a_pod_and_nothing_of_the_machine_is_shown() {
    let server = server().await;
    server.on_connect("default", "web", 80, |_| async {});
    let forward = async |pod: &str| {
        let request = Request::post(format!("/api/v1/nodes/n/proxy/portForward/default/{pod}"))
            .header("connection", "Upgrade")
            .header("upgrade", "SPDY/3.1")
            .header("x-stream-protocol-version", "portforward.k8s.io");
        let response = server.handle(request.body(Bytes::new()).unwrap()).await;
        response.status().as_u16()
    };
    assert_eq!(forward("web").await, 101);
    assert_eq!(forward("elsewhere").await, 404);
    for path in [
        "logs/",
        "logs/syslog",
        "debug/pprof/",
        "debug/pprof/heap",
        "debug/flags/v",
    ] {
        let (code, said) = get(&server, &format!("/api/v1/nodes/n/proxy/{path}")).await;
        assert_eq!(code, 405, "{path}: {said}");
    }
}

#[tokio::test]
async fn a_simulated_kubelet_counts_what_runs() {
    let server = server().await;
    let running = json!([{ "name": "app", "image": "i", "imageID": "", "ready": true, "restartCount": 0,
        "state": { "running": { "startedAt": "2026-01-01T00:00:00Z" } } }]);
    let status = json!({ "status": { "phase": "Running", "containerStatuses": running } });
    for pod in ["web", "elsewhere"] {
        let path = format!("/api/v1/namespaces/default/pods/{pod}/status");
        assert_eq!(send(&server, "PATCH", &path, status.clone()).await.0, 200);
    }
    let (code, figures) = get(&server, "/api/v1/nodes/n/proxy/metrics").await;
    assert_eq!(code, 200);
    for line in [
        "kubelet_node_name{node=\"n\"} 1",
        "kubelet_running_containers{container_state=\"running\"} 1",
        "kubelet_running_pods 1",
    ] {
        assert!(figures.lines().any(|own| own == line), "{figures}");
    }
}

#[tokio::test]
async fn no_other_port_of_a_node_is_reached_nor_a_kubelet_that_is_down() {
    let server = server().await;
    let refused =
        |port: &str| format!("error trying to reach service: dial tcp 10.1.0.1:{port}: connect: connection refused");
    let message = |body: &str| {
        serde_json::from_str::<Value>(body).unwrap()["message"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    for port in ["22", "80"] {
        let (code, said) = get(&server, &format!("/api/v1/nodes/n:{port}/proxy/")).await;
        assert_eq!((code, message(&said)), (503, refused(port)));
    }
    let (code, said) = get(&server, "/api/v1/nodes/n:ssh/proxy/").await;
    assert_eq!(code, 503, "{said}");
    set_ready(&server, "Unknown").await;
    let (code, said) = get(&server, "/api/v1/nodes/n/proxy/healthz").await;
    assert_eq!((code, message(&said).as_str()), (400, "lookup n: no such host"));
}

#[tokio::test]
async fn the_right_to_a_node_is_not_that_to_its_proxy() {
    let server = server().await;
    let role = json!({
        "metadata": { "name": "reader" },
        "rules": [{ "apiGroups": [""], "resources": ["nodes", "nodes/healthz", "nodes/pods"], "verbs": ["get"] }],
    });
    let binding = json!({
        "metadata": { "name": "reader" },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "reader" },
        "subjects": [{ "apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "jo" }],
    });
    let rbac = "/apis/rbac.authorization.k8s.io/v1";
    assert_eq!(
        send(&server, "POST", &format!("{rbac}/clusterroles"), role).await.0,
        201
    );
    assert_eq!(
        send(&server, "POST", &format!("{rbac}/clusterrolebindings"), binding)
            .await
            .0,
        201
    );
    let ask = async |path: &str| {
        let request = Request::get(path).body(Bytes::new()).unwrap();
        server
            .handle_as(Some(&User::new("jo", ["staff"])), request)
            .await
            .status()
            .as_u16()
    };
    assert_eq!(ask("/api/v1/nodes/n").await, 200);
    // The finer rights are asked by kubelets, of who talks to them; the API server's own way is `nodes/proxy`.
    assert_eq!(ask("/api/v1/nodes/n/proxy/healthz").await, 403);
    assert_eq!(ask("/api/v1/nodes/n/proxy/pods").await, 403);
}
