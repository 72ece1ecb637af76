//! `kubewright watch`: an operator in a cluster, through a forwarded port.
#![cfg(unix)]

use http::Request;
use kubewright_apiserver::{ApiServer, Connection, Options};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::dev_view::Page;
use crate::operator_project::TestProject;

async fn create(server: &ApiServer, path: &str, object: Value) {
    let request = Request::post(path).header("content-type", "application/json");
    let answer = server.handle(request.body(object.to_string().into()).unwrap()).await;
    assert_eq!(answer.status(), 201, "{path}");
}

async fn patch(server: &ApiServer, path: &str, change: Value) {
    let request = Request::patch(path).header("content-type", "application/merge-patch+json");
    let answer = server.handle(request.body(change.to_string().into()).unwrap()).await;
    assert_eq!(answer.status(), 200, "{path}");
}

/// The debug endpoint of an operator: what it says of itself, and a trace that goes on.
async fn serve(mut connection: Box<dyn Connection>) {
    let (mut head, mut buffer) = (Vec::new(), [0; 1024]);
    while !head.ends_with(b"\r\n\r\n") {
        match connection.read(&mut buffer).await {
            Ok(count @ 1..) => head.extend_from_slice(&buffer[..count]),
            _ => return,
        }
    }
    let head = String::from_utf8(head).unwrap();
    let is_trace = head.starts_with("GET /debug/kubewright/trace/events ");
    let body = if is_trace {
        let began = json!({ "sequence": 0, "at": 1.0, "reconcile": 1, "event": "began", "controller": "order", "key": "shop/first", "waited": 0.1 });
        let head = json!({ "version": 1, "process": 7, "elapsed": 2.0 });
        format!("event: begin\ndata: {head}\n\nid: 0\ndata: {began}\n\n")
    } else {
        json!({ "version": 1, "controllers": [{ "name": "order", "workers": 2 }], "informers": [] }).to_string()
    };
    let length = if is_trace {
        String::new()
    } else {
        format!("content-length: {}\r\n", body.len())
    };
    let answer = format!("HTTP/1.1 200 OK\r\n{length}connection: close\r\n\r\n{body}");
    let _ = connection.write_all(answer.as_bytes()).await;
    let _ = connection.flush().await;
    if is_trace {
        std::future::pending::<()>().await;
    }
}

/// A cluster with an operator of which one Pod of two leads.
async fn cluster() -> ApiServer {
    let server = ApiServer::new(Options::new().aggregated_roles(true));
    create(&server, "/api/v1/nodes", json!({ "metadata": { "name": "node" } })).await;
    create(&server, "/api/v1/namespaces", json!({ "metadata": { "name": "shop" } })).await;
    create(
        &server,
        "/api/v1/namespaces/shop/serviceaccounts",
        json!({ "metadata": { "name": "manager" } }),
    )
    .await;
    let arguments = ["--debug-trace-bytes=8388608", "--debug-bind-address=127.0.0.1:7070"];
    let pod = json!({
        "serviceAccountName": "manager", "nodeName": "node", "containers": [{ "name": "manager", "image": "i", "args": arguments }],
    });
    let labels = json!({ "app": "manager" });
    let deployment = json!({
        "metadata": { "name": "manager" },
        "spec": { "selector": { "matchLabels": labels }, "template": { "metadata": { "labels": labels }, "spec": pod } },
    });
    create(&server, "/apis/apps/v1/namespaces/shop/deployments", deployment).await;
    for name in ["manager-a", "manager-b"] {
        let object = json!({ "metadata": { "name": name, "labels": labels }, "spec": pod });
        create(&server, "/api/v1/namespaces/shop/pods", object).await;
        let status = json!({ "status": { "phase": "Running" } });
        patch(&server, &format!("/api/v1/namespaces/shop/pods/{name}/status"), status).await;
    }
    let lease = json!({ "metadata": { "name": "shop" }, "spec": { "holderIdentity": "manager-b_8c5d", "leaseDurationSeconds": 15 } });
    create(&server, "/apis/coordination.k8s.io/v1/namespaces/shop/leases", lease).await;
    server.on_connect("shop", "manager-b", 7070, serve);
    server
}

#[tokio::test(flavor = "multi_thread")]
async fn the_pod_that_leads_is_looked_into_through_a_forwarded_port() {
    let server = cluster().await;
    let listener = server.listen(0_u16).await.unwrap();
    let project = TestProject::new();
    project.write("kubeconfig", &listener.kubeconfig());
    let kubeconfig = project.path("kubeconfig");
    let looked = tokio::task::spawn_blocking(move || {
        let mut watch = project.start(Some(&kubeconfig), &["watch", "deploy/manager", "-n", "shop"]);
        let page = Page::of(&mut watch);
        let cookie = page.login();
        let began = page.until(&cookie, |news| {
            news["reconciles"]["changed"][0]["key"].as_str().map(str::to_owned)
        });
        assert_eq!(began, "shop/first");
        let controllers = page.until(&cookie, |news| {
            news["operator"]["page"]["controllers"].as_array().cloned()
        });
        assert_eq!(controllers[0]["name"], "order");
        let has = |news: &Value, name: &str| {
            let mut changed = news["objects"]["changed"].as_array().into_iter().flatten();
            changed.any(|object| object["name"] == name)
        };
        // What its kinds are nobody says, so that objects are shown when they change, from the moment on at which they are followed.
        let changing = tokio::runtime::Handle::current().spawn(async move {
            for number in 0.. {
                let label = json!({ "metadata": { "labels": { "number": format!("{number}") } } });
                patch(&server, "/api/v1/namespaces/shop/pods/manager-a", label).await;
                tokio::time::sleep(std::time::Duration::from_millis(100)).await;
            }
        });
        page.until(&cookie, |news| has(news, "manager-a").then_some(()));
        changing.abort();
        watch.signal("INT");
        let (status, said) = watch.end();
        assert_eq!(status.code(), Some(0), "{said}");
        assert!(!said.contains("records nothing"), "{said}");
    });
    looked.await.unwrap();
    listener.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_there_is_named_and_an_operator_that_records_nothing_is_told_how_to() {
    let server = cluster().await;
    let trace_off =
        json!({ "spec": { "template": { "spec": { "containers": [{ "name": "manager", "image": "i" }] } } } });
    patch(&server, "/apis/apps/v1/namespaces/shop/deployments/manager", trace_off).await;
    let listener = server.listen(0_u16).await.unwrap();
    let project = TestProject::new();
    project.write("kubeconfig", &listener.kubeconfig());
    let kubeconfig = project.path("kubeconfig");
    let looked = tokio::task::spawn_blocking(move || {
        let ended = |arguments: &[&str]| {
            let (status, said) = project.start(Some(&kubeconfig), arguments).end();
            (status.code(), said)
        };
        let (code, said) = ended(&["watch", "deploy/none", "-n", "shop"]);
        assert_eq!(code, Some(1));
        assert!(
            said.contains("there is no deployment.apps/none in namespace shop"),
            "{said}"
        );
        let (code, said) = ended(&["watch", "job/none"]);
        assert_eq!(code, Some(2));
        assert!(said.contains("write deploy/NAME or pod/NAME"), "{said}");
        let mut watch = project.start(Some(&kubeconfig), &["watch", "pod/manager-a", "-n", "shop"]);
        let page = Page::of(&mut watch);
        let why = page.until(&page.login(), |news| {
            news["operator"]["unreachable"].as_str().map(str::to_owned)
        });
        assert!(!why.is_empty() && !why.contains("Status {"), "{why}");
        watch.signal("TERM");
        assert_eq!(watch.end().0.code(), Some(0));
        let mut watch = project.start(Some(&kubeconfig), &["watch", "deploy/manager", "-n", "shop"]);
        watch.until("add --debug-trace-bytes=8388608 to the arguments of its container");
        watch.until("Ctrl-C ends this");
        watch.signal("TERM");
        assert_eq!(watch.end().0.code(), Some(0));
    });
    looked.await.unwrap();
    listener.shutdown().await;
}
