//! An API server takes every installation, strictly and twice.

use http::Request;
use http_body_util::BodyExt as _;
use kubewright_apiserver::{ApiServer, Options};
use serde_json::Value;

use super::operators::cases;
use super::tree::{bundle_of, tree};

/// Kinds of others: what serves them is not there.
const FOREIGN: [&str; 3] = ["Certificate", "Issuer", "ServiceMonitor"];

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
        "NetworkPolicy" => "networkpolicies".to_owned(),
        kind => format!("{}s", kind.to_lowercase()),
    };
    format!("{group}{namespaces}/{plural}/{name}")
}

#[tokio::test]
async fn a_cluster_takes_every_installation_strictly_and_twice() {
    for case in cases() {
        let server = ApiServer::new(Options::new());
        let bundle = bundle_of(&case, &tree(&case)).unwrap();
        for other in ["vault", "library"] {
            let body = format!(r#"{{"metadata":{{"name":"{other}"}}}}"#);
            let request = Request::post("/api/v1/namespaces").body(body.into()).unwrap();
            assert!(server.handle(request).await.status().is_success());
        }
        let mut taken = 0;
        for object in bundle.all().chain(bundle.all()) {
            if FOREIGN.contains(&object["kind"].as_str().unwrap()) {
                continue;
            }
            let path = path(object);
            let request = Request::patch(format!("{path}?fieldManager=kubewright&fieldValidation=Strict"))
                .header("content-type", "application/apply-patch+yaml")
                .body(object.to_string().into())
                .unwrap();
            let response = server.handle(request).await;
            let code = response.status();
            let body = response.into_body().collect().await.unwrap().to_bytes();
            assert!(
                code.is_success(),
                "{}: {path}: {}",
                case.name,
                String::from_utf8_lossy(&body)
            );
            taken += 1;
        }
        assert!(taken >= 22, "{}: {taken}", case.name);
    }
}
