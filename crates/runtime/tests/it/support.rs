//! What several modules of these tests need: objects to write, a kind to install, and answers that a layer before the server changes.

use http::Response;
use http_body_util::BodyExt as _;
use http_body_util::combinators::UnsyncBoxBody;
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::client::Body;
use kube::core::DynamicObject;
use kubewright_runtime::object::Kind;
use serde_json::json;

pub(crate) type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// A response whose body a layer before the server has replaced.
pub(crate) type LayerResponse = Response<UnsyncBoxBody<bytes::Bytes, BoxError>>;

/// The response as the server gave it.
pub(crate) fn unchanged(response: Response<Body>) -> LayerResponse {
    response.map(|body| body.map_err(BoxError::from).boxed_unsync())
}

/// An empty `ConfigMap` in the namespace `default`.
pub(crate) fn config_map(name: &str) -> ConfigMap {
    serde_json::from_value(json!({ "metadata": { "name": name, "namespace": "default" } })).unwrap()
}

/// A `ConfigMap` in the namespace `default` that holds a value under `key`.
pub(crate) fn config_map_with(name: &str, value: &str) -> ConfigMap {
    ConfigMap {
        data: Some([("key".to_owned(), value.to_owned())].into()),
        ..config_map(name)
    }
}

/// A kind of custom resources; [`boat_definition`] installs it.
pub(crate) fn boats() -> Kind {
    Kind::named("harbour.example.com", "v1", "Boat", "boats", true)
}

pub(crate) fn boat_definition() -> CustomResourceDefinition {
    serde_json::from_value(json!({
        "metadata": { "name": "boats.harbour.example.com" },
        "spec": {
            "group": "harbour.example.com", "scope": "Namespaced", "names": { "plural": "boats", "kind": "Boat" },
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": { "openAPIV3Schema": { "type": "object", "x-kubernetes-preserve-unknown-fields": true } },
            }],
        },
    }))
    .unwrap()
}

pub(crate) fn boat(name: &str) -> DynamicObject {
    serde_json::from_value(json!({
        "apiVersion": "harbour.example.com/v1", "kind": "Boat", "metadata": { "name": name, "namespace": "default" },
    }))
    .unwrap()
}
