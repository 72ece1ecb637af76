//! What is said and what is not.

use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use serde::{Serialize, Serializer};
use serde_json::json;

use crate::apps::v1::{DeploymentApply, DeploymentSpecApply};
use crate::core::v1::{PodSpecApply, PodTemplateSpecApply};
use crate::{Apply, Part, list, map};
use kube_core::Resource as _;
use kubewright_runtime::strict::from_yaml;

/// Cannot be written as JSON.
struct Unwritable;

impl Serialize for Unwritable {
    fn serialize<S: Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
        Err(serde::ser::Error::custom("it is a secret"))
    }
}

#[test]
fn nothing_but_the_name_is_said_of_a_new_object() {
    let said = serde_json::to_value(Apply::<Namespace>::new("shop")).unwrap();
    assert_eq!(
        said,
        json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "shop" } })
    );
}

#[test]
fn it_is_of_the_kind_it_speaks_of() {
    assert_eq!(Apply::<ConfigMap>::kind(&()), ConfigMap::kind(&()));
    assert_eq!(Apply::<ConfigMap>::api_version(&()), ConfigMap::api_version(&()));
    assert_eq!(Apply::<ConfigMap>::plural(&()), ConfigMap::plural(&()));
}

#[test]
fn what_was_said_is_read_again() {
    let said = Apply::<ConfigMap>::namespaced("shop", "a")
        .annotation("note", "x")
        .set("data", json!({ "k": "v" }));
    let read: Apply<ConfigMap> = serde_json::from_value(serde_json::to_value(&said).unwrap()).unwrap();
    assert_eq!(read, said);
    assert_eq!(read.object().unwrap().data.unwrap()["k"], "v");
}

/// Typed reading drops what a type does not know; strict reading refuses it.
#[test]
fn a_built_in_kind_is_read_as_its_type_reads_it() {
    let text = |field: &str| {
        format!(
            "{{apiVersion: apps/v1, kind: Deployment, metadata: {{name: web}}, spec: {{{field}: 3, template: {{spec: {{nodeName: a}}}}}}}}"
        )
    };
    let read = from_yaml::<DeploymentApply>(&text("replicas")).unwrap();
    let said = DeploymentApply::new("web").spec(
        DeploymentSpecApply::new()
            .replicas(3)
            .template(PodTemplateSpecApply::new().spec(PodSpecApply::new().node_name("a"))),
    );
    assert_eq!(read, said);

    let error = |text: &str| from_yaml::<DeploymentApply>(text).unwrap_err().to_string();
    assert_eq!(error(&text("replica")), "unknown field .spec.replica");
    assert_eq!(
        error("{metadata: {name: web, label: {}}, spec: {}}"),
        "unknown field .metadata.label"
    );
    assert_eq!(error("{metadata: {name: web}, specs: {}}"), "unknown field .specs");
    let three = error("{metadata: {name: web}, spec: {replicas: three}}");
    assert!(three.contains("expected i32"), "{three}");
    let other = error("{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: web}}");
    assert!(other.contains("DaemonSet"), "{other}");
    // Those who do not ask for strictness are not told: a newer server has fields that nobody here knows.
    let newer = json!({ "metadata": { "name": "web" }, "spec": { "replicas": 3, "mood": "good" } });
    let read: DeploymentApply = serde_json::from_value(newer).unwrap();
    assert_eq!(
        read,
        DeploymentApply::new("web").spec(DeploymentSpecApply::new().replicas(3))
    );
}

#[test]
fn a_field_that_is_no_json_is_told_when_the_object_is_written() {
    let said = Apply::<ConfigMap>::new("a").set("data", Unwritable);
    let error = serde_json::to_value(&said).unwrap_err();
    assert_eq!(error.to_string(), "data: it is a secret");
}

#[test]
fn keys_of_maps_are_texts_whatever_they_were() {
    let ports = map::<u16, _, _>([(80u16, "http"), (443, "https")], |name| {
        Part::<String>::into_value(name)
    })
    .unwrap();
    assert_eq!(ports, json!({ "80": "http", "443": "https" }));
    assert!(map::<Vec<u8>, _, _>([(vec![1], 1)], Part::<i32>::into_value).is_err());
    let nested = list([vec![1, 2], vec![]], |row| list(row, |value: i64| value.into_value()));
    assert_eq!(nested.unwrap(), json!([[1, 2], []]));
}
