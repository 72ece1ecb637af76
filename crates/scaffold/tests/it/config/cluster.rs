//! An API server takes every installation, strictly and twice.

use http::Request;
use http_body_util::BodyExt as _;
use kubewright_apiserver::{ApiServer, Options};
use serde_json::{Value, json};

use super::operators::cases;
use super::tree::{bundle_of, tree};

/// Kinds of others: what serves them is not there.
const FOREIGN: [&str; 4] = ["Certificate", "Issuer", "PrometheusRule", "ServiceMonitor"];

fn path(object: &Value) -> String {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let (name, namespace, kind) = (text("/metadata/name"), text("/metadata/namespace"), text("/kind"));
    let group = match text("/apiVersion") {
        "v1" => "/api/v1".to_owned(),
        version => format!("/apis/{version}"),
    };
    let namespaces = match namespace {
        "" => String::new(),
        namespace => format!("/namespaces/{namespace}"),
    };
    let plural = match kind {
        kind if kind.ends_with("Policy") => format!("{}ies", kind.to_lowercase().trim_end_matches('y')),
        kind => format!("{}s", kind.to_lowercase()),
    };
    format!("{group}{namespaces}/{plural}/{name}")
}

/// A server that has the namespaces of others.
async fn server() -> ApiServer {
    let server = ApiServer::new(Options::new().service_account_admission(true));
    for other in ["vault", "library"] {
        let body = format!(r#"{{"metadata":{{"name":"{other}"}}}}"#);
        let request = Request::post("/api/v1/namespaces").body(body.into()).unwrap();
        assert!(server.handle(request).await.status().is_success());
    }
    server
}

/// Applies an object, or creates it if it has no name; what the server warns of.
async fn send(server: &ApiServer, object: &Value) -> Vec<String> {
    let path = path(object);
    let request = if path.ends_with('/') {
        let path = path.trim_end_matches('/');
        Request::post(format!("{path}?fieldValidation=Strict")).header("content-type", "application/json")
    } else {
        Request::patch(format!("{path}?fieldManager=kubewright&fieldValidation=Strict"))
            .header("content-type", "application/apply-patch+yaml")
    };
    let response = server.handle(request.body(object.to_string().into()).unwrap()).await;
    let (parts, body) = response.into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    assert!(parts.status.is_success(), "{path}: {}", String::from_utf8_lossy(&body));
    let warnings = parts.headers.get_all("warning").iter();
    warnings.map(|warning| warning.to_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn a_cluster_takes_every_installation_strictly_and_twice() {
    for case in cases() {
        let server = server().await;
        let bundle = bundle_of(&case, &tree(&case)).unwrap();
        let mut taken = 0;
        for object in bundle.all().chain(bundle.all()) {
            if !FOREIGN.contains(&object["kind"].as_str().unwrap()) {
                send(&server, object).await;
                taken += 1;
            }
        }
        assert!(taken >= 22, "{}: {taken}", case.name);
    }
}

#[tokio::test]
async fn a_namespace_with_the_strictest_pod_security_takes_every_installation_and_its_pods_without_a_warning() {
    for case in cases() {
        let server = server().await;
        let bundle = bundle_of(&case, &tree(&case)).unwrap();
        let mut pods = 0;
        for object in bundle.all() {
            let mut object = object.clone();
            let kind = object["kind"].as_str().unwrap().to_owned();
            if FOREIGN.contains(&kind.as_str()) {
                continue;
            }
            if kind == "Namespace" {
                for mode in ["enforce", "warn", "audit"] {
                    let label = format!("pod-security.kubernetes.io/{mode}");
                    object["metadata"]["labels"][label] = "restricted".into();
                }
            }
            assert_eq!(send(&server, &object).await, [""; 0], "{}: {kind}", case.name);
            if kind == "Deployment" {
                let mut pod = object["spec"]["template"].clone();
                pod["apiVersion"] = "v1".into();
                pod["kind"] = "Pod".into();
                pod["metadata"]["generateName"] = "manager-".into();
                pod["metadata"]["namespace"] = object["metadata"]["namespace"].clone();
                assert_eq!(send(&server, &pod).await, [""; 0], "{}: the Pod", case.name);
                pods += 1;
            }
        }
        assert_eq!(pods, 1, "{}", case.name);
    }
    // It would be told.
    let server = server().await;
    let namespace = json!({
        "apiVersion": "v1", "kind": "Namespace",
        "metadata": { "name": "hard", "labels": { "pod-security.kubernetes.io/warn": "restricted" } },
    });
    send(&server, &namespace).await;
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "soft", "namespace": "vault" },
        "spec": { "containers": [{ "name": "a", "image": "a" }] },
    });
    let account = |namespace: &str| json!({ "apiVersion": "v1", "kind": "ServiceAccount", "metadata": { "name": "default", "namespace": namespace } });
    send(&server, &account("vault")).await;
    send(&server, &account("hard")).await;
    assert_eq!(send(&server, &pod).await, [""; 0]);
    let mut pod = pod;
    pod["metadata"]["namespace"] = "hard".into();
    assert!(send(&server, &pod).await[0].contains("would violate PodSecurity"));
}
