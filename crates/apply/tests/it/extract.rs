//! What a manager owns of an object.

use k8s_openapi::api::apps::v1::Deployment;
use kubewright_apply::ExtractError;
use kubewright_apply::apps::v1::{DeploymentApply, DeploymentSpecApply};
use kubewright_apply::core::v1::{
    ContainerApply, ContainerPortApply, PodSpecApply, PodTemplateSpecApply, ResourceRequirementsApply,
};
use serde_json::json;

use crate::apply::{client, read, server, web};

#[tokio::test(start_paused = true)]
async fn what_was_applied_is_extracted_and_applied_again() {
    let server = server();
    let (author, meter) = (client(&server, "author"), client(&server, "meter"));
    author.apply(&web()).await.unwrap();
    let container = ContainerApply::new()
        .name("web")
        .resources(ResourceRequirementsApply::new().limits([("cpu", "1")]))
        .ports([ContainerPortApply::new()
            .container_port(80)
            .name("http")
            .protocol("TCP")]);
    let metered = DeploymentApply::namespaced("default", "web")
        .annotation("meter", "on")
        .spec(
            DeploymentSpecApply::new()
                .replicas(2)
                .template(PodTemplateSpecApply::new().spec(PodSpecApply::new().containers([container]))),
        );
    meter.apply(&metered).await.unwrap();

    let object = read(&author).await;
    let extracted = DeploymentApply::extract(&object, "author").unwrap();
    assert_eq!(extracted, web());
    let extracted = DeploymentApply::extract(&object, "meter").unwrap();
    assert_eq!(extracted, metered);

    // Applied again it changes nothing; changed, it changes that alone.
    let before = object.metadata.resource_version.clone();
    meter.apply(&extracted).await.unwrap();
    assert_eq!(read(&author).await.metadata.resource_version, before);
    meter.apply(&extracted.label("metered", "yes")).await.unwrap();
    let object = read(&author).await;
    assert_eq!(object.metadata.labels.unwrap()["metered"], "yes");
    assert_eq!(object.spec.unwrap().replicas, Some(2));
}

#[tokio::test(start_paused = true)]
async fn a_manager_that_owns_nothing_gets_the_name() {
    let server = server();
    let author = client(&server, "author");
    author.apply(&web()).await.unwrap();
    let object = read(&author).await;
    let nothing = DeploymentApply::extract(&object, "nobody").unwrap();
    assert_eq!(nothing, DeploymentApply::namespaced("default", "web"));
    let nothing = DeploymentApply::extract_subresource(&object, "author", "status").unwrap();
    assert_eq!(nothing, DeploymentApply::namespaced("default", "web"));
}

#[test]
fn an_object_without_managed_fields_is_refused() {
    let object = Deployment::default();
    let error = DeploymentApply::extract(&object, "author").unwrap_err();
    assert!(matches!(error, ExtractError::NoManagedFields), "{error}");
}

#[test]
fn keys_that_mean_nothing_are_refused() {
    let object: Deployment = serde_json::from_value(json!({
        "metadata": {
            "name": "web",
            "labels": { "a": "1" },
            "managedFields": [
                { "manager": "author", "operation": "Apply", "fieldsV1": { "f:metadata": { "labels": {} } } },
            ],
        },
    }))
    .unwrap();
    let error = DeploymentApply::extract(&object, "author").unwrap_err();
    assert_eq!(
        error.to_string(),
        "managedFields of author have the key \"labels\", which means nothing"
    );
}
