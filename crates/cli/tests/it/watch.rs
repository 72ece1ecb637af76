//! `kubewright watch`: an operator in a cluster, through a forwarded port.
#![cfg(unix)]

use http::Request;
use kubewright_apiserver::{ApiServer, Connection, Options, User};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::dev_view::Page;
use crate::operator_project::TestProject;

/// The token of somebody who is not the administrator.
const LOOKER: &str = "token-of-the-looker";
const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1/namespaces/shop";

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
        let call = json!({
            "sequence": 1, "at": 1.1, "reconcile": 1, "event": "called", "verb": "apply", "target": "ConfigMap shop/first", "dryRun": false,
            "sent": null, "code": 403, "error": "forbidden", "cached": null, "revision": null, "changes": [], "took": 0.1,
        });
        format!("event: begin\ndata: {head}\n\nid: 0\ndata: {began}\n\nid: 1\ndata: {call}\n\n")
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
    let looker = User::new("looker", Vec::<String>::new());
    let server = ApiServer::new(Options::new().aggregated_roles(true).token(LOOKER, looker));
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
    let rules = json!([
        { "apiGroups": ["shop.example.com"], "resources": ["orders"], "verbs": ["get", "list", "watch"] },
        { "apiGroups": [""], "resources": ["secrets"], "verbs": ["create"] },
    ]);
    bind(
        &server,
        "manager",
        rules,
        json!({ "kind": "ServiceAccount", "name": "manager", "namespace": "shop" }),
    )
    .await;
    server.on_connect("shop", "manager-b", 7070, serve);
    server
}

/// Lets somebody do something in the namespace of the operator.
async fn bind(server: &ApiServer, name: &str, rules: Value, subject: Value) {
    let role = json!({ "metadata": { "name": name }, "rules": rules });
    create(server, &format!("{RBAC}/roles"), role).await;
    let role = json!({ "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name });
    let binding = json!({ "metadata": { "name": name }, "roleRef": role, "subjects": [subject] });
    create(server, &format!("{RBAC}/rolebindings"), binding).await;
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
        // The trace says what it asks for, and the cluster what it may.
        let requests = page.until(&cookie, |news| {
            let requests = &news["requests"];
            requests["missing"][0].is_string().then(|| requests.clone())
        });
        assert_eq!(
            requests["requests"],
            json!([{ "user": "the operator", "verb": "patch", "what": "configmaps", "code": 403, "count": 1 }])
        );
        let missing = requests["missing"][0].as_str().unwrap();
        assert!(
            missing.starts_with("once denied: patch of configmaps (namespace shop)"),
            "{missing}"
        );
        let unused = requests["unused"].as_array().unwrap();
        assert_eq!(unused.len(), 1, "{requests}");
        assert!(
            unused[0]
                .as_str()
                .unwrap()
                .starts_with("never used: create of secrets in shop"),
            "{requests}"
        );
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

#[tokio::test(flavor = "multi_thread")]
async fn whoever_may_not_forward_a_port_is_told_so_and_a_role_is_enough() {
    let server = cluster().await;
    let listener = server.listen(0_u16).await.unwrap();
    let kubeconfig = kube::config::Kubeconfig::from_yaml(&listener.kubeconfig()).unwrap();
    let project = TestProject::new();
    let mut text = serde_json::to_value(&kubeconfig).unwrap();
    for user in text["users"].as_array_mut().unwrap() {
        user["user"] = json!({ "token": LOOKER });
    }
    project.write("kubeconfig", &text.to_string());
    let kubeconfig = project.path("kubeconfig");
    let words = ["watch", "deploy/manager", "-n", "shop", "--history-bytes=1048576"];
    let handle = tokio::runtime::Handle::current();
    let looked = tokio::task::spawn_blocking(move || {
        // Without any right it ends with what is missing first.
        let (status, said) = project.start(Some(&kubeconfig), &words).end();
        assert_eq!(status.code(), Some(1), "{said}");
        assert!(
            said.contains("\"looker\" cannot get resource \"deployments\""),
            "{said}"
        );

        let subject = json!({ "apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "looker" });
        let rules = json!([
            { "apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["get"] },
            { "apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"] },
        ]);
        handle.block_on(bind(&server, "looks", rules, subject.clone()));
        let mut watch = project.start(Some(&kubeconfig), &words);
        watch.until("what the operator may read is not known: ");
        let page = Page::of(&mut watch);
        let cookie = page.login();
        let why = page.until(&cookie, |news| {
            news["operator"]["unreachable"].as_str().map(str::to_owned)
        });
        assert!(why.contains("pods/portforward") && why.contains("looker"), "{why}");

        // The right is given while it runs.
        let rules = json!([{ "apiGroups": [""], "resources": ["pods/portforward"], "verbs": ["get", "create"] }]);
        handle.block_on(bind(&server, "forwards", rules, subject));
        // Who may not read leases sees the first Pod.
        server.on_connect("shop", "manager-a", 7070, serve);
        let began = page.until(&cookie, |news| {
            news["reconciles"]["changed"][0]["key"].as_str().map(str::to_owned)
        });
        assert_eq!(began, "shop/first");
        watch.signal("INT");
        let (status, said) = watch.end();
        assert_eq!(status.code(), Some(0), "{said}");
    });
    looked.await.unwrap();
    listener.shutdown().await;
}
