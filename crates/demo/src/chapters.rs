//! The chapters of the demo: what each does, and what it waits for.

use std::error::Error;
use std::time::Instant;

use k8s_openapi::api::admissionregistration::v1::{MutatingWebhookConfiguration, ValidatingWebhookConfiguration};
use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
use k8s_openapi::api::core::v1::{ConfigMap, Node, Pod, Service};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::api::{Api, DeleteParams};
use kubewright_cluster::delete::DeletionTarget;
use kubewright_cluster::{Reference, status};
use kubewright_codec::yaml;
use kubewright_controllers::{ControllerName, Controllers};
use kubewright_runtime::object::Kind;
use markdown_view::api::v1::MarkdownView;
use serde_json::{Value, json};

use super::environment::{DemoEnvironment, NODES};
use super::line::{Content, StartUp, Summary};
use super::presenter::Presenter;
use super::watcher::Watcher;

/// The namespace of the views.
const NAMESPACE: &str = "default";

/// The view that is created: a copy of the sample of the example, which a package of this crate alone does not have.
const SAMPLE: &str = include_str!("sample.yaml");
const SAMPLE_PATH: &str = "examples/markdown-view/config/samples/view_v1_markdownview.yaml";

/// The view that `--serve` leaves in the cluster.
const WELCOME: &str = include_str!("serve/welcome.yaml");
const WELCOME_PATH: &str = "crates/demo/src/serve/welcome.yaml";

/// The image of a view that names none.
const DEFAULT_IMAGE: &str = "peaceiris/mdbook:latest";

/// The image that replaces the one of the sample.
const NEWER_IMAGE: &str = "peaceiris/mdbook:0.4.40";

/// How many viewers the view is scaled to, and how many the webhook denies.
const MORE: usize = 5;
const TOO_MANY: usize = 100;

/// The sample, and the fields of it that chapters use.
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
pub(super) async fn start(
    presenter: &mut Presenter,
    watcher: &mut Watcher,
    started: &mut Option<DemoEnvironment>,
    secure_port: u16,
) -> Result<StartUp, Box<dyn Error>> {
    let mut took = StartUp::default();
    presenter
        .chapter(
            "Start a cluster",
            "An API server, its controllers and three nodes in this process: no etcd, no containers.",
        )
        .await?;
    let began = Instant::now();
    let environment = started.insert(DemoEnvironment::start(watcher.notices(), secure_port).await?);
    took.server = began.elapsed();
    let client = environment.embedded.client();
    let began = Instant::now();
    watcher
        .watch(
            &client,
            [
                Kind::of::<Node>(),
                Kind::of::<MutatingWebhookConfiguration>(),
                Kind::of::<ValidatingWebhookConfiguration>(),
            ],
        )
        .await?;
    let url = environment.embedded.url();
    presenter.fact("API server", format!("{url}, Kubernetes 1.36")).await?;
    let names: Vec<&str> = Controllers::all().names().map(ControllerName::as_str).collect();
    let text = format!("{}: {}", names.len(), names.join(", "));
    presenter.fact("Controllers", text).await?;
    let ready = presenter
        .wait_until("the nodes were not ready", |state| state.ready_nodes() == NODES)
        .await?;
    took.nodes = ready.saturating_duration_since(began);
    presenter.end_chapter().await?;
    install(presenter, watcher, environment, &mut took).await?;
    Ok(took)
}

async fn install(
    presenter: &mut Presenter,
    watcher: &mut Watcher,
    environment: &mut DemoEnvironment,
    took: &mut StartUp,
) -> Result<(), Box<dyn Error>> {
    presenter
        .chapter(
            "Install the operator",
            "Its definition, role and webhooks come from Rust types. It runs as its own ServiceAccount.",
        )
        .await?;
    let began = Instant::now();
    let installed = environment.install().await?;
    took.install = began.elapsed();
    let changes = &installed.changes.lines;
    let parts = ["customresourcedefinition", "role", "webhookconfiguration"].map(|part| {
        let is_it = |line: &&String| line.split(['.', '/']).next().is_some_and(|kind| kind.contains(part));
        changes.iter().filter(is_it).count()
    });
    let text = format!(
        "{} objects, among them {} definition, {} roles and bindings, {} webhook configurations",
        changes.len(),
        parts[0],
        parts[1],
        parts[2]
    );
    presenter.fact("Installation", text).await?;
    let account = installed.account.clone();
    let began = Instant::now();
    let url = environment.run(installed).await?;
    let here = presenter
        .wait_until("the operator did not take its webhooks", |state| {
            state.webhooks_are_here()
        })
        .await?;
    took.operator = here.saturating_duration_since(began);
    let namespace = account.namespace.unwrap_or_default();
    let text = format!("runs as ServiceAccount {namespace}/{}", account.name);
    presenter.fact("Operator", text).await?;
    presenter.fact("Webhooks", format!("are called at {url}")).await?;
    watcher
        .watch(
            &environment.embedded.client(),
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
    presenter
        .wait_until("the objects of the cluster were not seen", |_| true)
        .await?;
    Ok(presenter.end_chapter().await?)
}

/// What happens to a view from its creation to its deletion.
pub(super) async fn create_change_and_delete_a_view(
    presenter: &mut Presenter,
    environment: &DemoEnvironment,
) -> Result<(), Box<dyn Error>> {
    let sample = Sample::read()?;
    create(presenter, environment, &sample).await?;
    deny(presenter, environment, &sample).await?;
    scale(presenter, environment, &sample).await?;
    roll_out(presenter, environment, &sample).await?;
    repair(presenter, environment, &sample).await?;
    delete(presenter, environment, &sample).await
}

async fn create(
    presenter: &mut Presenter,
    environment: &DemoEnvironment,
    sample: &Sample,
) -> Result<(), Box<dyn Error>> {
    presenter
        .chapter(
            "Create a MarkdownView",
            "The operator makes a ConfigMap, a Deployment and a Service of it; the cluster does the rest.",
        )
        .await?;
    let command = format!("kubectl apply --server-side -f {SAMPLE_PATH}");
    presenter.command(command).await?;
    let applied = environment
        .cluster
        .apply_all(std::slice::from_ref(&sample.object), false, |_| {});
    applied.await?.whole()?;
    let name = &sample.reference.name;
    presenter
        .wait_until("the viewers were not ready", |state| {
            state.shows(NAMESPACE, name, sample.replicas, &sample.image)
        })
        .await?;
    Ok(presenter.end_chapter().await?)
}

/// `kubectl patch`, as it is written.
fn patch_command(sample: &Sample, patch: &Value) -> String {
    format!(
        "kubectl patch markdownview {} --type merge -p '{patch}'",
        sample.reference.name
    )
}

async fn deny(presenter: &mut Presenter, environment: &DemoEnvironment, sample: &Sample) -> Result<(), Box<dyn Error>> {
    presenter
        .chapter(
            "Try an invalid edit",
            "The API server asks the operator's webhook, which does not admit it. Nothing is stored.",
        )
        .await?;
    let patch = json!({ "spec": { "replicas": TOO_MANY } });
    presenter.command(patch_command(sample, &patch)).await?;
    let Err(error) = environment.cluster.patch(&sample.reference, &patch).await else {
        return Err(format!("{TOO_MANY} replicas were admitted, which the webhook has to deny").into());
    };
    let Some(refusal) = status(&error) else {
        return Err(error.into());
    };
    presenter.print(Content::Denied {
        reason: refusal.reason.clone(),
        message: refusal.message.clone(),
    })?;
    Ok(presenter.end_chapter().await?)
}

async fn scale(
    presenter: &mut Presenter,
    environment: &DemoEnvironment,
    sample: &Sample,
) -> Result<(), Box<dyn Error>> {
    presenter
        .chapter(
            "Scale up",
            "One field changes; the operator applies it to the Deployment, and nothing else is touched.",
        )
        .await?;
    let patch = json!({ "spec": { "replicas": MORE } });
    presenter.command(patch_command(sample, &patch)).await?;
    environment.cluster.patch(&sample.reference, &patch).await?;
    let name = &sample.reference.name;
    presenter
        .wait_until("the viewers were not ready", |state| {
            state.shows(NAMESPACE, name, MORE, &sample.image)
        })
        .await?;
    Ok(presenter.end_chapter().await?)
}

async fn roll_out(
    presenter: &mut Presenter,
    environment: &DemoEnvironment,
    sample: &Sample,
) -> Result<(), Box<dyn Error>> {
    presenter
        .chapter(
            "Roll out another image",
            "The Deployment replaces its Pods step by step: four of five are ready at any moment.",
        )
        .await?;
    let patch = json!({ "spec": { "viewerImage": NEWER_IMAGE } });
    presenter.command(patch_command(sample, &patch)).await?;
    environment.cluster.patch(&sample.reference, &patch).await?;
    let name = &sample.reference.name;
    presenter
        .wait_until("the viewers were not replaced", |state| {
            state.shows(NAMESPACE, name, MORE, NEWER_IMAGE)
        })
        .await?;
    Ok(presenter.end_chapter().await?)
}

async fn repair(
    presenter: &mut Presenter,
    environment: &DemoEnvironment,
    sample: &Sample,
) -> Result<(), Box<dyn Error>> {
    presenter
        .chapter(
            "Delete something by mistake",
            "An operator compares what is there with what should be: the Service comes back.",
        )
        .await?;
    let service = format!("viewer-{}", sample.reference.name);
    presenter.command(format!("kubectl delete service {service}")).await?;
    let uid = presenter
        .state
        .uid("Service", NAMESPACE, &service)
        .unwrap_or_default()
        .to_owned();
    let target = DeletionTarget {
        reference: Reference::new("v1", "Service", Some(NAMESPACE), &service),
        uid: uid.clone(),
    };
    environment.cluster.delete(&target, false).await?;
    let name = &sample.reference.name;
    presenter
        .wait_until("the Service did not come back", |state| {
            state.has_another_service(NAMESPACE, &service, &uid) && state.shows(NAMESPACE, name, MORE, NEWER_IMAGE)
        })
        .await?;
    Ok(presenter.end_chapter().await?)
}

async fn delete(
    presenter: &mut Presenter,
    environment: &DemoEnvironment,
    sample: &Sample,
) -> Result<(), Box<dyn Error>> {
    presenter
        .chapter(
            "Delete the view",
            "First goes what it owns, from the Pods up, and the view last: every object names its owner.",
        )
        .await?;
    let name = &sample.reference.name;
    presenter
        .command(format!("kubectl delete markdownview {name} --cascade=foreground"))
        .await?;
    let views: Api<MarkdownView> = Api::namespaced(environment.embedded.client(), NAMESPACE);
    views.delete(name, &DeleteParams::foreground()).await?;
    presenter
        .wait_until("not everything was deleted", |state| state.is_empty(NAMESPACE))
        .await?;
    Ok(presenter.end_chapter().await?)
}

/// Creates a view whose documents say what can be done with the cluster.
pub(super) async fn welcome(presenter: &mut Presenter, environment: &DemoEnvironment) -> Result<(), Box<dyn Error>> {
    presenter
        .chapter(
            "Stay",
            "Another view, to be read in a browser. It names no image: the operator's webhook fills it in.",
        )
        .await?;
    let view = yaml::decode(WELCOME.as_bytes())?.value;
    let reference = Reference::of(&view).ok_or("the welcome does not say what it is")?;
    let replicas = usize::try_from(view["spec"]["replicas"].as_u64().unwrap_or(1))?;
    presenter
        .command(format!("kubectl apply --server-side -f {WELCOME_PATH}"))
        .await?;
    let applied = environment
        .cluster
        .apply_all(std::slice::from_ref(&view), false, |_| {});
    applied.await?.whole()?;
    presenter
        .wait_until("the viewers were not ready", |state| {
            state.shows(NAMESPACE, &reference.name, replicas, DEFAULT_IMAGE)
        })
        .await?;
    Ok(presenter.end_chapter().await?)
}

/// The figures of the whole demo.
pub(super) fn summary(presenter: &Presenter, environment: &DemoEnvironment, start_up: StartUp) -> Summary {
    let (own, others) = environment.stats();
    let (writes, own_writes) = environment.writes();
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
    (summary.took, summary.paused) = presenter.elapsed();
    summary
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sample_is_that_of_the_example() {
        let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
        let example = std::fs::read_to_string(format!("{root}/{SAMPLE_PATH}")).unwrap();
        assert_eq!(SAMPLE, example, "copy {SAMPLE_PATH} to crates/demo/src/sample.yaml");
    }
}
