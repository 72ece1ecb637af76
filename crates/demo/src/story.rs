//! The story: what is done, why it is worth seeing, and when a chapter has come to its end.

use std::error::Error;
use std::time::Instant;

use k8s_openapi::api::admissionregistration::v1::{MutatingWebhookConfiguration, ValidatingWebhookConfiguration};
use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
use k8s_openapi::api::core::v1::{ConfigMap, Node, Pod, Service};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::api::{Api, DeleteParams};
use kubewright_cluster::delete::Doomed;
use kubewright_cluster::{Reference, status};
use kubewright_codec::yaml;
use kubewright_controllers::{ControllerName, Controllers};
use kubewright_runtime::object::Kind;
use markdown_view::api::v1::MarkdownView;
use serde_json::{Value, json};

use super::eyes::Eyes;
use super::scene::{NODES, Scene};
use super::stage::Stage;
use super::told::{StartUp, Summary, What};

/// Where the story plays.
const NAMESPACE: &str = "default";

/// What the view is made from, as its users have it.
const SAMPLE: &str = include_str!("../../../examples/markdown-view/config/samples/view_v1_markdownview.yaml");
const SAMPLE_PATH: &str = "examples/markdown-view/config/samples/view_v1_markdownview.yaml";

/// What is left to be read by those who stay.
const WELCOME: &str = include_str!("serve/welcome.yaml");
const WELCOME_PATH: &str = "crates/demo/src/serve/welcome.yaml";

/// The image of a view that names none.
const DEFAULT_IMAGE: &str = "peaceiris/mdbook:latest";

/// The image that takes the place of the sample's.
const NEWER_IMAGE: &str = "peaceiris/mdbook:0.4.40";

/// How many viewers there are after the scale-up, and how many nobody may have.
const MORE: usize = 5;
const TOO_MANY: usize = 100;

/// The sample, and what the story has to know of it.
struct Sample {
    object: Value,
    reference: Reference,
    replicas: usize,
    image: String,
}

impl Sample {
    fn read() -> Result<Self, Box<dyn Error>> {
        let mut object = yaml::decode(SAMPLE.as_bytes())?.value;
        object["metadata"]["namespace"] = NAMESPACE.into();
        let reference = Reference::of(&object).ok_or("the sample does not say what it is")?;
        let replicas = object["spec"]["replicas"].as_u64().unwrap_or(1);
        let image = object["spec"]["viewerImage"].as_str().unwrap_or_default().to_owned();
        Ok(Sample {
            object,
            reference,
            replicas: usize::try_from(replicas)?,
            image,
        })
    }
}

/// Starts the cluster and the operator, which the other chapters need.
pub(super) async fn prologue(
    stage: &mut Stage,
    eyes: &mut Eyes,
    place: &mut Option<Scene>,
    secure_port: u16,
) -> Result<StartUp, Box<dyn Error>> {
    let mut took = StartUp::default();
    stage
        .chapter(
            "Start a cluster",
            "An API server, its controllers and three nodes in this process: no etcd, no containers.",
        )
        .await?;
    let began = Instant::now();
    let scene = place.insert(Scene::start(eyes.nerve(), secure_port).await?);
    took.server = began.elapsed();
    let client = scene.embedded.client();
    let began = Instant::now();
    eyes.open(
        &client,
        [
            Kind::of::<Node>(),
            Kind::of::<MutatingWebhookConfiguration>(),
            Kind::of::<ValidatingWebhookConfiguration>(),
        ],
    )
    .await?;
    let url = scene.embedded.url();
    stage.fact("API server", format!("{url}, Kubernetes 1.36")).await?;
    let names: Vec<&str> = Controllers::all().names().map(ControllerName::as_str).collect();
    let text = format!("{}: {}", names.len(), names.join(", "));
    stage.fact("Controllers", text).await?;
    let ready = stage
        .until("the nodes were not ready", |world| world.ready_nodes() == NODES)
        .await?;
    took.nodes = ready.saturating_duration_since(began);
    stage.rest().await?;
    install(stage, eyes, scene, &mut took).await?;
    Ok(took)
}

async fn install(
    stage: &mut Stage,
    eyes: &mut Eyes,
    scene: &mut Scene,
    took: &mut StartUp,
) -> Result<(), Box<dyn Error>> {
    stage
        .chapter(
            "Install the operator",
            "Its definition, role and webhooks come from Rust types. It runs as its own ServiceAccount.",
        )
        .await?;
    let began = Instant::now();
    let installed = scene.install().await?;
    took.install = began.elapsed();
    let brought = &installed.brought.lines;
    let parts = ["customresourcedefinition", "role", "webhookconfiguration"].map(|part| {
        let is_it = |line: &&String| line.split(['.', '/']).next().is_some_and(|kind| kind.contains(part));
        brought.iter().filter(is_it).count()
    });
    let text = format!(
        "{} objects, among them {} definition, {} roles and bindings, {} webhook configurations",
        brought.len(),
        parts[0],
        parts[1],
        parts[2]
    );
    stage.fact("Installation", text).await?;
    let account = installed.account.clone();
    let began = Instant::now();
    let url = scene.run(installed).await?;
    let here = stage
        .until("the operator did not take its webhooks", |world| {
            world.webhooks_are_here()
        })
        .await?;
    took.operator = here.saturating_duration_since(began);
    let namespace = account.namespace.unwrap_or_default();
    let text = format!("runs as ServiceAccount {namespace}/{}", account.name);
    stage.fact("Operator", text).await?;
    stage.fact("Webhooks", format!("are called at {url}")).await?;
    eyes.open(
        &scene.embedded.client(),
        [
            Kind::of::<MarkdownView>(),
            Kind::of::<ConfigMap>(),
            Kind::of::<Deployment>(),
            Kind::of::<ReplicaSet>(),
            Kind::of::<Pod>(),
            Kind::of::<Service>(),
            Kind::of::<EndpointSlice>(),
        ],
    )
    .await?;
    stage
        .until("the objects of the cluster were not seen", |_| true)
        .await?;
    Ok(stage.rest().await?)
}

/// What happens to a view from its creation to its deletion.
pub(super) async fn life_of_a_view(stage: &mut Stage, scene: &Scene) -> Result<(), Box<dyn Error>> {
    let sample = Sample::read()?;
    create(stage, scene, &sample).await?;
    deny(stage, scene, &sample).await?;
    scale(stage, scene, &sample).await?;
    roll(stage, scene, &sample).await?;
    repair(stage, scene, &sample).await?;
    delete(stage, scene, &sample).await
}

async fn create(stage: &mut Stage, scene: &Scene, sample: &Sample) -> Result<(), Box<dyn Error>> {
    stage
        .chapter(
            "Create a MarkdownView",
            "The operator makes a ConfigMap, a Deployment and a Service of it; the cluster does the rest.",
        )
        .await?;
    let command = format!("kubectl apply --server-side -f {SAMPLE_PATH}");
    stage.command(command).await?;
    let applied = scene
        .cluster
        .apply_all(std::slice::from_ref(&sample.object), false, |_| {});
    applied.await?.whole()?;
    let name = &sample.reference.name;
    stage
        .until("the viewers were not ready", |world| {
            world.shows(NAMESPACE, name, sample.replicas, &sample.image)
        })
        .await?;
    Ok(stage.rest().await?)
}

/// `kubectl patch`, as it is written.
fn patch_command(sample: &Sample, patch: &Value) -> String {
    format!(
        "kubectl patch markdownview {} --type merge -p '{patch}'",
        sample.reference.name
    )
}

async fn deny(stage: &mut Stage, scene: &Scene, sample: &Sample) -> Result<(), Box<dyn Error>> {
    stage
        .chapter(
            "Try an invalid edit",
            "The API server asks the operator's webhook, which does not admit it. Nothing is stored.",
        )
        .await?;
    let patch = json!({ "spec": { "replicas": TOO_MANY } });
    stage.command(patch_command(sample, &patch)).await?;
    let Err(error) = scene.cluster.patch(&sample.reference, &patch).await else {
        return Err(format!("{TOO_MANY} replicas were admitted, which the webhook has to deny").into());
    };
    let Some(refusal) = status(&error) else {
        return Err(error.into());
    };
    stage.say(What::Denied {
        reason: refusal.reason.clone(),
        message: refusal.message.clone(),
    })?;
    Ok(stage.rest().await?)
}

async fn scale(stage: &mut Stage, scene: &Scene, sample: &Sample) -> Result<(), Box<dyn Error>> {
    stage
        .chapter(
            "Scale up",
            "One field changes; the operator applies it to the Deployment, and nothing else is touched.",
        )
        .await?;
    let patch = json!({ "spec": { "replicas": MORE } });
    stage.command(patch_command(sample, &patch)).await?;
    scene.cluster.patch(&sample.reference, &patch).await?;
    let name = &sample.reference.name;
    stage
        .until("the viewers were not ready", |world| {
            world.shows(NAMESPACE, name, MORE, &sample.image)
        })
        .await?;
    Ok(stage.rest().await?)
}

async fn roll(stage: &mut Stage, scene: &Scene, sample: &Sample) -> Result<(), Box<dyn Error>> {
    stage
        .chapter(
            "Roll out another image",
            "The Deployment replaces its Pods step by step: four of five are ready at any moment.",
        )
        .await?;
    let patch = json!({ "spec": { "viewerImage": NEWER_IMAGE } });
    stage.command(patch_command(sample, &patch)).await?;
    scene.cluster.patch(&sample.reference, &patch).await?;
    let name = &sample.reference.name;
    stage
        .until("the viewers were not replaced", |world| {
            world.shows(NAMESPACE, name, MORE, NEWER_IMAGE)
        })
        .await?;
    Ok(stage.rest().await?)
}

async fn repair(stage: &mut Stage, scene: &Scene, sample: &Sample) -> Result<(), Box<dyn Error>> {
    stage
        .chapter(
            "Delete something by mistake",
            "An operator compares what is there with what should be: the Service comes back.",
        )
        .await?;
    let service = format!("viewer-{}", sample.reference.name);
    stage.command(format!("kubectl delete service {service}")).await?;
    let uid = stage
        .world
        .uid("Service", NAMESPACE, &service)
        .unwrap_or_default()
        .to_owned();
    let doomed = Doomed {
        reference: Reference::new("v1", "Service", Some(NAMESPACE), &service),
        uid: uid.clone(),
    };
    scene.cluster.delete(&doomed, false).await?;
    let name = &sample.reference.name;
    stage
        .until("the Service did not come back", |world| {
            world.has_another_service(NAMESPACE, &service, &uid) && world.shows(NAMESPACE, name, MORE, NEWER_IMAGE)
        })
        .await?;
    Ok(stage.rest().await?)
}

async fn delete(stage: &mut Stage, scene: &Scene, sample: &Sample) -> Result<(), Box<dyn Error>> {
    stage
        .chapter(
            "Delete the view",
            "First goes what it owns, from the Pods up, and the view last: every object names its owner.",
        )
        .await?;
    let name = &sample.reference.name;
    stage
        .command(format!("kubectl delete markdownview {name} --cascade=foreground"))
        .await?;
    let views: Api<MarkdownView> = Api::namespaced(scene.embedded.client(), NAMESPACE);
    views.delete(name, &DeleteParams::foreground()).await?;
    stage
        .until("not everything was deleted", |world| world.is_empty(NAMESPACE))
        .await?;
    Ok(stage.rest().await?)
}

/// Leaves a view in the cluster that tells what can be done with it.
pub(super) async fn welcome(stage: &mut Stage, scene: &Scene) -> Result<(), Box<dyn Error>> {
    stage
        .chapter(
            "Stay",
            "Another view, to be read in a browser. It names no image: the operator's webhook fills it in.",
        )
        .await?;
    let view = yaml::decode(WELCOME.as_bytes())?.value;
    let reference = Reference::of(&view).ok_or("the welcome does not say what it is")?;
    let replicas = usize::try_from(view["spec"]["replicas"].as_u64().unwrap_or(1))?;
    stage
        .command(format!("kubectl apply --server-side -f {WELCOME_PATH}"))
        .await?;
    let applied = scene.cluster.apply_all(std::slice::from_ref(&view), false, |_| {});
    applied.await?.whole()?;
    stage
        .until("the viewers were not ready", |world| {
            world.shows(NAMESPACE, &reference.name, replicas, DEFAULT_IMAGE)
        })
        .await?;
    Ok(stage.rest().await?)
}

/// How it went.
pub(super) fn summary(stage: &Stage, scene: &Scene, start_up: StartUp) -> Summary {
    let (own, others) = scene.stats();
    let (writes, own_writes) = scene.writes();
    let mut summary = Summary {
        writes,
        own_writes,
        start_up,
        ..Summary::default()
    };
    for stats in own {
        let snapshot = stats.snapshot();
        summary.reconciles += snapshot.total();
        summary.failed += snapshot.errors;
        summary.reconciling += snapshot.time;
    }
    summary.others = others.iter().map(|stats| stats.snapshot().total()).sum();
    (summary.took, summary.paused) = stage.elapsed();
    summary
}
