//! From the types of k8s-openapi to builders.

use k8s_openapi::api::apps::v1::{Deployment, DeploymentSpec, ReplicaSet, ReplicaSetStatus};
use k8s_openapi::api::core::v1::{Container, EmptyDirVolumeSource, PodSpec, PodTemplateSpec, Volume};
use k8s_openapi::api::networking::v1::NetworkPolicySpec;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kubewright_apply::TypedError;
use kubewright_apply::apps::v1::{DeploymentApply, DeploymentSpecApply, ReplicaSetApply};
use kubewright_apply::core::v1::{ContainerApply, PodTemplateSpecApply};
use kubewright_apply::networking::v1::NetworkPolicySpecApply;
use serde_json::{Value, json};

fn deployment(spec: DeploymentSpec) -> Deployment {
    let mut deployment = Deployment::default();
    deployment.metadata.name = Some("web".into());
    deployment.spec = Some(spec);
    deployment
}

fn value(builder: impl serde::Serialize) -> Value {
    serde_json::to_value(builder).unwrap()
}

#[test]
fn what_the_type_writes_unset_is_left_out() {
    let spec = DeploymentSpec {
        replicas: Some(0),
        ..DeploymentSpec::default()
    };
    let written = value(DeploymentApply::try_from(&deployment(spec)).unwrap());
    assert_eq!(
        written,
        json!({ "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": "web" }, "spec": { "replicas": 0 } })
    );
}

#[test]
fn what_was_set_empty_stays() {
    let volume = Volume {
        name: "tmp".into(),
        empty_dir: Some(EmptyDirVolumeSource::default()),
        ..Volume::default()
    };
    let template = PodTemplateSpec {
        spec: Some(PodSpec {
            containers: vec![Container {
                name: "web".into(),
                ..Container::default()
            }],
            volumes: Some(vec![volume]),
            ..PodSpec::default()
        }),
        ..PodTemplateSpec::default()
    };
    let expected = json!({ "spec": {
        "containers": [{ "name": "web" }],
        "volumes": [{ "name": "tmp", "emptyDir": {} }],
    } });
    assert_eq!(value(PodTemplateSpecApply::try_from(&template).unwrap()), expected);
    let spec = DeploymentSpec {
        template: template.clone(),
        ..DeploymentSpec::default()
    };
    assert_eq!(
        value(DeploymentSpecApply::try_from(spec).unwrap()),
        json!({ "template": expected })
    );
    // A builder goes on where the value ends.
    let container = ContainerApply::try_from(template.spec.unwrap().containers.remove(0)).unwrap();
    assert_eq!(
        value(container.image("nginx")),
        json!({ "name": "web", "image": "nginx" })
    );

    let everything = NetworkPolicySpec {
        pod_selector: Some(LabelSelector::default()),
        ..NetworkPolicySpec::default()
    };
    assert_eq!(
        value(NetworkPolicySpecApply::try_from(everything).unwrap()),
        json!({ "podSelector": {} })
    );
}

#[test]
fn a_required_number_that_may_be_unset_is_refused_with_its_path() {
    let mut replica_set = ReplicaSet {
        status: Some(ReplicaSetStatus::default()),
        ..ReplicaSet::default()
    };
    let error = ReplicaSetApply::try_from(&replica_set).unwrap_err();
    assert_eq!(
        error.to_string(),
        ".status.replicas: 0 may be set or not, the type cannot tell: use the setters"
    );
    replica_set.status.get_or_insert_default().replicas = 2;
    let written = value(ReplicaSetApply::try_from(&replica_set).unwrap());
    assert_eq!(written["status"], json!({ "replicas": 2 }));
}

#[test]
fn an_object_that_was_read_is_refused() {
    let mut read = deployment(DeploymentSpec::default());
    read.metadata.resource_version = Some("7".into());
    let error = DeploymentApply::try_from(read).unwrap_err();
    assert!(matches!(error, TypedError::Read), "{error}");
}
