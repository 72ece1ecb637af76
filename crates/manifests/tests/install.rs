//! An installation is what it was yesterday, and what a cluster accepts.
#![allow(missing_docs)]

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kubewright_apiserver::{ApiServer, Options};
use kubewright_manifests::install::{Settings, objects};
use kubewright_manifests::yaml::documents;
use kubewright_runtime::controller::Controller;
use kubewright_runtime::operator::{Operator, Rule};
use kubewright_runtime::webhook::{AdmissionRequest, Webhook};
use serde_json::Value;

fn operator() -> Operator {
    Operator::new("shop")
        .controller(Controller::of::<ConfigMap>().owns::<Deployment>())
        .reads::<Secret>()
        .rule(Rule::new(["apps"], ["deployments"], ["patch", "create"]))
        .webhook(Webhook::of::<ConfigMap>().defaulter(|_: &mut ConfigMap, _: &AdmissionRequest| Ok(())))
}

fn installation() -> Vec<Value> {
    objects(&operator().describe(), &Settings::new("shop", "shop:1.0"))
}

#[test]
fn an_installation_is_what_it_was() {
    let rendered = documents(&installation());
    let golden = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/testdata/install.yaml");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(golden, &rendered).unwrap();
    }
    let expected = std::fs::read_to_string(golden).unwrap();
    assert_eq!(rendered, expected, "run with UPDATE_GOLDEN=1 if this is meant");
}

#[tokio::test]
async fn a_cluster_accepts_it_strictly_and_twice() {
    let server = ApiServer::new(Options::new());
    for _ in 0..2 {
        for object in installation() {
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
            let plural = format!("{}s", kind.to_lowercase());
            let path = format!("{group}{namespaces}/{plural}/{name}?fieldManager=kubewright&fieldValidation=Strict");
            let request = http::Request::patch(path)
                .header("content-type", "application/apply-patch+yaml")
                .body(object.to_string().into())
                .unwrap();
            let code = server.handle(request).await.status();
            assert!(code.is_success(), "{kind} {name}: {code}");
        }
    }
}
