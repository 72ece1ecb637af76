//! Applying with builders, on the embedded API server.

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::autoscaling::v1::Scale;
use kubewright_apiserver::{ApiServer, Options};
use kubewright_apply::apps::v1::{DeploymentApply, DeploymentSpecApply, DeploymentStatusApply};
use kubewright_apply::autoscaling::v1::{ScaleApply, ScaleSpecApply};
use kubewright_apply::core::v1::{
    ContainerApply, ContainerPortApply, EnvVarApply, PodSpecApply, PodTemplateSpecApply, ResourceRequirementsApply,
    SecretApply, ServiceApply, ServicePortApply, ServiceSpecApply,
};
use kubewright_apply::meta::v1::{LabelSelectorApply, ObjectMetaApply};
use kubewright_runtime::client::{Client, Error, Outcome};
use kubewright_runtime::informer::Cache;
use kubewright_runtime::object::ObjectKey;
use serde_json::{Value, json};

pub(crate) fn client(server: &ApiServer, owner: &str) -> Client {
    Client::new(server.client(), Cache::default()).live().field_owner(owner)
}

pub(crate) fn server() -> ApiServer {
    ApiServer::new(Options::new())
}

/// A Deployment that can run.
pub(crate) fn web() -> DeploymentApply {
    DeploymentApply::namespaced("default", "web").label("app", "web").spec(
        DeploymentSpecApply::new()
            .selector(LabelSelectorApply::new().match_labels([("app", "web")]))
            .template(
                PodTemplateSpecApply::new()
                    .metadata(ObjectMetaApply::new().labels([("app", "web")]))
                    .spec(PodSpecApply::new().containers([ContainerApply::new().name("web").image("nginx:1")])),
            ),
    )
}

pub(crate) async fn read(client: &Client) -> Deployment {
    let key = ObjectKey::namespaced("default", "web");
    client.get::<Deployment>(&key).await.unwrap().into_owned()
}

/// The fields that an owner applied.
fn owned(web: &Deployment, owner: &str) -> Value {
    let mut entries = web.metadata.managed_fields.iter().flatten();
    let entry = entries.find(|entry| entry.manager.as_deref() == Some(owner));
    json!(entry.and_then(|entry| entry.fields_v1.as_ref()))
}

#[tokio::test(start_paused = true)]
async fn an_owner_of_the_replicas_owns_nothing_else() {
    let server = server();
    let (author, scaler) = (client(&server, "author"), client(&server, "scaler"));
    assert_eq!(author.apply(&web()).await.unwrap().outcome, Outcome::Created);
    let scale = DeploymentApply::namespaced("default", "web").spec(DeploymentSpecApply::new().replicas(3));
    let applied = scaler.apply(&scale).await.unwrap().object.object().unwrap();
    assert_eq!(applied.spec.unwrap().replicas, Some(3));
    let web = read(&author).await;
    assert_eq!(owned(&web, "scaler"), json!({ "f:spec": { "f:replicas": {} } }));

    // A status is a subresource, and its owner's alone.
    let status =
        DeploymentApply::namespaced("default", "web").status(DeploymentStatusApply::new().observed_generation(1));
    let applied = scaler.of::<DeploymentApply>().status().apply(&status).await.unwrap();
    let status = applied.object.object().unwrap().status.unwrap();
    assert_eq!(status.observed_generation, Some(1));
}

#[tokio::test(start_paused = true)]
async fn who_applies_a_scale_owns_the_replicas() {
    let server = server();
    let author = client(&server, "author");
    author.apply(&web()).await.unwrap();
    let key = ObjectKey::namespaced("default", "web");
    let scale = |client: &Client| client.of::<Deployment>().subresource("scale");
    let to = |replicas| ScaleApply::new("web").spec(ScaleSpecApply::new().replicas(replicas));

    // Nobody set the replicas, but the server takes their default for somebody's.
    let scaler = client(&server, "scaler");
    let error = scale(&scaler).apply_as::<Scale>(&key, &to(3)).await.unwrap_err();
    assert!(error.is_conflict(), "{error}");
    let now: Scale = scale(&scaler.force()).apply_as(&key, &to(3)).await.unwrap();
    assert_eq!(now.spec.unwrap().replicas, Some(3));
    let web = read(&author).await;
    assert_eq!(owned(&web, "scaler"), json!({ "f:spec": { "f:replicas": {} } }));
    let mut entries = web.metadata.managed_fields.iter().flatten();
    let entry = entries
        .find(|entry| entry.manager.as_deref() == Some("scaler"))
        .unwrap();
    assert_eq!(entry.subresource.as_deref(), Some("scale"));
    assert_eq!(entry.api_version.as_deref(), Some("apps/v1"));
    assert_eq!(web.spec.unwrap().replicas, Some(3));

    // Somebody else has to insist.
    let other = client(&server, "other");
    let error = scale(&other).apply_as::<Scale>(&key, &to(5)).await.unwrap_err();
    assert!(error.is_conflict(), "{error}");
    assert!(error.to_string().contains("conflict with \"scaler\""), "{error}");
    let now: Scale = scale(&other.force()).apply_as(&key, &to(5)).await.unwrap();
    assert_eq!(now.spec.unwrap().replicas, Some(5));
    let web = read(&author).await;
    assert_eq!(owned(&web, "scaler"), Value::Null);
    assert_eq!(web.spec.unwrap().replicas, Some(5));

    // What is no Scale, what is another object's, and what nobody applies.
    let error = scale(&other).apply_as::<Scale>(&key, &json!(5)).await.unwrap_err();
    assert!(error.to_string().contains("does not serialize to an object"), "{error}");
    let another = ScaleApply::new("db");
    let error = scale(&other).apply_as::<Scale>(&key, &another).await.unwrap_err();
    assert!(
        error.to_string().contains("\"db\" and would be applied to default/web"),
        "{error}"
    );
    let nobody = Client::new(server.client(), Cache::default()).live();
    let error = scale(&nobody).apply_as::<Scale>(&key, &to(5)).await.unwrap_err();
    assert!(matches!(error, Error::NoFieldOwner), "{error}");
}

/// What the builders are for: the types of k8s-openapi write what nobody set.
#[tokio::test(start_paused = true)]
async fn the_same_with_the_types_of_k8s_openapi_is_refused() {
    let server = server();
    client(&server, "author").apply(&web()).await.unwrap();
    let mut scale = Deployment::default();
    scale.metadata.name = Some("web".into());
    scale.metadata.namespace = Some("default".into());
    scale.spec.get_or_insert_default().replicas = Some(3);
    let scaler = client(&server, "scaler");
    let error = scaler.apply(&scale).await.unwrap_err();
    assert!(error.is_conflict(), "{error}");
    assert!(
        error.to_string().contains("conflict with \"author\": .spec.selector"),
        "{error}"
    );
    // Who insists is told that the object would lose what makes it one.
    let error = scaler.force().apply(&scale).await.unwrap_err();
    assert_eq!(error.code(), Some(422), "{error}");
    assert!(
        error
            .to_string()
            .contains("spec.selector: Invalid value: {}: empty selector"),
        "{error}"
    );
    let scale = DeploymentApply::try_from(scale).unwrap();
    scaler.apply(&scale).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn containers_are_merged_by_their_names() {
    let server = server();
    let (author, meter) = (client(&server, "author"), client(&server, "meter"));
    author.apply(&web()).await.unwrap();
    let pod = |container: ContainerApply| {
        let template = PodTemplateSpecApply::new().spec(PodSpecApply::new().containers([container]));
        DeploymentApply::namespaced("default", "web").spec(DeploymentSpecApply::new().template(template))
    };
    let memory = ResourceRequirementsApply::new().limits([("memory", "64Mi")]);
    meter
        .apply(&pod(ContainerApply::new().name("web").resources(memory)))
        .await
        .unwrap();
    meter
        .clone()
        .field_owner("sidecar")
        .apply(&pod(ContainerApply::new().name("proxy").image("envoy:1")))
        .await
        .unwrap();
    let containers = read(&author).await.spec.unwrap().template.spec.unwrap().containers;
    let names: Vec<&str> = containers.iter().map(|container| container.name.as_str()).collect();
    assert_eq!(names, ["web", "proxy"]);
    assert_eq!(containers[0].image.as_deref(), Some("nginx:1"));
    let limits = containers[0].resources.as_ref().unwrap().limits.as_ref().unwrap();
    assert_eq!(limits["memory"].0, "64Mi");
}

#[test]
fn what_is_set_twice_merges_as_the_server_merges_it() {
    let pod = PodSpecApply::new()
        .containers([
            ContainerApply::new().name("a").image("1"),
            ContainerApply::new().name("b"),
        ])
        .containers([
            ContainerApply::new().name("a").image("2"),
            ContainerApply::new().name("c"),
        ])
        .node_selector([("disk", "ssd")])
        .node_selector([("zone", "a")]);
    assert_eq!(
        serde_json::to_value(pod).unwrap(),
        json!({
            "containers": [{ "name": "a", "image": "2" }, { "name": "b" }, { "name": "c" }],
            // An atomic map, as the server has it.
            "nodeSelector": { "zone": "a" },
        })
    );
    let container = ContainerApply::new()
        .args(["a"])
        .args(["b"])
        .env([EnvVarApply::new().name("A").value("1")])
        .env([EnvVarApply::new().name("A").value("2")])
        // A port without a protocol is one of TCP.
        .ports([ContainerPortApply::new().container_port(80)])
        .ports([
            ContainerPortApply::new().container_port(80).protocol("TCP").name("web"),
            ContainerPortApply::new().container_port(80).protocol("UDP"),
        ]);
    assert_eq!(
        serde_json::to_value(container).unwrap(),
        json!({
            "args": ["b"],
            "env": [{ "name": "A", "value": "2" }],
            "ports": [
                { "containerPort": 80, "protocol": "TCP", "name": "web" },
                { "containerPort": 80, "protocol": "UDP" },
            ],
        })
    );
    let metadata = ObjectMetaApply::new()
        .labels([("a", "1"), ("b", "1")])
        .labels([("b", "2")])
        .finalizers(["x"])
        .finalizers(["x", "y"]);
    assert_eq!(
        serde_json::to_value(metadata).unwrap(),
        json!({ "labels": { "a": "1", "b": "2" }, "finalizers": ["x", "y"] })
    );
}

#[tokio::test(start_paused = true)]
async fn values_of_special_types_are_written_as_the_server_reads_them() {
    let server = server();
    let author = client(&server, "author");
    let secret = SecretApply::namespaced("default", "key")
        .data([("token", "abc")])
        .type_("Opaque");
    assert_eq!(
        serde_json::to_value(&secret).unwrap()["data"],
        json!({ "token": "YWJj" })
    );
    let applied = author.apply(&secret).await.unwrap().object.object().unwrap();
    assert_eq!(applied.data.unwrap()["token"].0, b"abc");

    let ports = [
        ServicePortApply::new().name("http").port(80).target_port("http"),
        ServicePortApply::new().name("admin").port(81).target_port(8081),
    ];
    let service = ServiceApply::namespaced("default", "web")
        .spec(ServiceSpecApply::new().selector([("app", "web")]).ports(ports));
    let written = serde_json::to_value(&service).unwrap();
    assert_eq!(written["spec"]["ports"][0]["targetPort"], "http");
    assert_eq!(written["spec"]["ports"][1]["targetPort"], 8081);
    author.apply(&service).await.unwrap();
}
