// SPDX-License-Identifier: Apache-2.0

//! Makes what a `MarkdownView` asks for: its documents in a ConfigMap, its viewers in a Deployment, and the Service before them.

use std::collections::BTreeMap;
use std::time::Duration;

use kubewright::apply::apps::v1::{DeploymentApply, DeploymentSpecApply};
use kubewright::apply::core::v1::{
    ConfigMapVolumeSourceApply, ContainerApply, ContainerPortApply, HTTPGetActionApply, PodSpecApply,
    PodTemplateSpecApply, ProbeApply, ServiceApply, ServicePortApply, ServiceSpecApply, VolumeApply, VolumeMountApply,
};
use kubewright::apply::meta::v1::{LabelSelectorApply, ObjectMetaApply};
use kubewright::k8s_openapi::api::apps::v1::Deployment;
use kubewright::k8s_openapi::api::core::v1::{ConfigMap, Service};
use kubewright::metrics::{Family, Gauge};
use kubewright::prelude::*;
use kubewright::tracing;

use crate::api::v1::MarkdownView;

/// Who owns the fields this controller applies.
pub const FIELD_OWNER: &str = "markdown-view-controller";

/// Reconciles `MarkdownView`s.
pub struct MarkdownViewReconciler {
    client: Client,
    events: EventRecorder,
    available: Family<Gauge, 2>,
}

impl MarkdownViewReconciler {
    /// The controller: what it reconciles, and what wakes it.
    pub fn controller() -> Controller {
        Controller::of::<MarkdownView>()
            .owns::<ConfigMap>()
            .owns::<Deployment>()
            .owns::<Service>()
            .every(Duration::from_secs(30))
            .reconcile_with(Self::new)
    }

    fn new(context: &Context) -> Self {
        let help = "The cluster status about markdown view condition";
        let metrics = context.metrics();
        MarkdownViewReconciler {
            client: context.client().field_owner(FIELD_OWNER).force(),
            events: context.events().named("markdownview-controller"),
            available: metrics
                .gauge("markdownview_available", help, ["name", "namespace"])
                .expect("this metric is registered once"),
        }
    }

    /// Documents are added, never taken away: a viewer may still show them.
    async fn reconcile_config_map(&self, view: &MarkdownView) -> Result<()> {
        let mut config_map = ConfigMap::default();
        config_map.metadata.name = Some(format!("markdowns-{}", view.name_any()));
        config_map.metadata.namespace = view.namespace();
        self.client
            .create_or_update(config_map, |config_map| {
                config_map
                    .data
                    .get_or_insert_default()
                    .extend(view.spec.markdowns.clone());
                Ok(set_controller_reference(view, config_map)?)
            })
            .await?;
        Ok(())
    }

    async fn reconcile_deployment(&self, view: &MarkdownView) -> Result<()> {
        let name = view.name_any();
        let image = view.spec.viewer_image.as_deref().unwrap_or("peaceiris/mdbook:latest");
        let probe = ProbeApply::new().http_get(HTTPGetActionApply::new().path("/").port("http").scheme("HTTP"));
        let container = ContainerApply::new()
            .name("mdbook")
            .image(image)
            .image_pull_policy("IfNotPresent")
            .command(["mdbook"])
            .args(["serve", "--hostname", "0.0.0.0"])
            .volume_mounts([VolumeMountApply::new().name("markdowns").mount_path("/book/src")])
            .ports([ContainerPortApply::new()
                .name("http")
                .protocol("TCP")
                .container_port(3000)])
            .liveness_probe(probe.clone())
            .readiness_probe(probe);
        let markdowns = ConfigMapVolumeSourceApply::new().name(format!("markdowns-{name}"));
        let volume = VolumeApply::new().name("markdowns").config_map(markdowns);
        let template = PodTemplateSpecApply::new()
            .metadata(ObjectMetaApply::new().labels(labels(&name)))
            .spec(PodSpecApply::new().containers([container]).volumes([volume]));
        let spec = DeploymentSpecApply::new()
            .replicas(view.spec.replicas)
            .selector(LabelSelectorApply::new().match_labels(labels(&name)))
            .template(template);
        let mut wanted = DeploymentApply::namespaced(view.namespace().unwrap_or_default(), format!("viewer-{name}"))
            .labels(labels(&name))
            .spec(spec);
        set_controller_reference(view, &mut wanted)?;
        self.client.apply(&wanted).await?;
        Ok(())
    }

    async fn reconcile_service(&self, view: &MarkdownView) -> Result<()> {
        let name = view.name_any();
        let spec = ServiceSpecApply::new()
            .selector(labels(&name))
            .type_("ClusterIP")
            .ports([ServicePortApply::new().protocol("TCP").port(80).target_port(3000)]);
        let mut wanted = ServiceApply::namespaced(view.namespace().unwrap_or_default(), format!("viewer-{name}"))
            .labels(labels(&name))
            .spec(spec);
        set_controller_reference(view, &mut wanted)?;
        self.client.apply(&wanted).await?;
        Ok(())
    }

    /// What is there, as conditions. Reads from the cache see the children that were just written.
    async fn update_status(&self, view: &MarkdownView) -> Result {
        let (namespace, name) = (view.namespace().unwrap_or_default(), view.name_any());
        let markdowns = ObjectKey::namespaced(&namespace, &format!("markdowns-{name}"));
        let viewer = ObjectKey::namespaced(&namespace, &format!("viewer-{name}"));
        // Of several that are missing, the last one is named.
        let mut missing = None;
        if self.client.get_opt::<ConfigMap>(&markdowns).await?.is_none() {
            missing = Some("ConfigMap not found");
        }
        if self.client.get_opt::<Service>(&viewer).await?.is_none() {
            missing = Some("Service not found");
        }
        let deployment = self.client.get_opt::<Deployment>(&viewer).await?;
        if deployment.is_none() {
            missing = Some("Deployment not found");
        }
        let running = deployment
            .and_then(|deployment| deployment.status.as_ref().and_then(|status| status.available_replicas))
            .unwrap_or(0);
        let degraded = match missing {
            Some(message) => ConditionUpdate::is_true("Degraded", "Reconciling").message(message),
            None => ConditionUpdate::is_false("Degraded", "OK"),
        };
        let available = match missing {
            _ if running == 0 => {
                ConditionUpdate::is_false("Available", "Unavailable").message("AvailableReplicas is 0")
            }
            Some(_) => ConditionUpdate::is_false("Available", "Reconciling"),
            None => ConditionUpdate::is_true("Available", "OK"),
        };

        let mut changed = view.clone();
        let conditions = &mut changed.status.get_or_insert_default().conditions;
        let before = conditions.clone();
        let now = self.client.clock().now();
        for update in [available, degraded] {
            set_condition(conditions, &update.observed(view.meta().generation), now);
        }
        let is_available = is_condition_true(conditions, "Available");
        let gauge = self.available.with([&name, &namespace]);
        gauge.set(if is_available { 1.0 } else { 0.0 });
        for (condition, note) in transitions(&namespace, &name) {
            let was_false = find_condition(&before, condition).is_some_and(|before| before.status == "False");
            if was_false && is_condition_true(conditions, condition) {
                self.events.record(view, note);
            }
        }
        if *conditions != before {
            self.client.update_status(&changed).await?;
        }
        Ok(if running == 0 {
            Action::requeue()
        } else {
            Action::done()
        })
    }
}

#[rbac(groups = "", resources = "configmaps", verbs = "create, update")]
#[rbac(groups = "", resources = "services", verbs = "create, patch")]
#[rbac(groups = "apps", resources = "deployments", verbs = "create, patch")]
#[rbac(
    groups = "view.zoetrope.github.io",
    resources = "markdownviews/status",
    verbs = "update"
)]
impl Reconciler for MarkdownViewReconciler {
    async fn reconcile(&self, request: Request) -> Result {
        let Some(view) = self.client.get_opt::<MarkdownView>(&request).await? else {
            self.available
                .remove([request.name(), request.namespace().unwrap_or_default()]);
            return Ok(Action::done());
        };
        if view.meta().deletion_timestamp.is_some() {
            return Ok(Action::done());
        }
        let children = async {
            self.reconcile_config_map(&view).await?;
            self.reconcile_deployment(&view).await?;
            self.reconcile_service(&view).await
        };
        // A child that fails shows in the status first, and then fails the reconcile.
        let children = children.await;
        let status = self.update_status(&view).await;
        if let (Err(_), Err(error)) = (&children, &status) {
            tracing::error!(%error, "unable to update status");
        }
        children.and(status)
    }
}

/// The conditions whose turning true is worth an event.
fn transitions(namespace: &str, name: &str) -> [(&'static str, EventNote); 2] {
    let degraded = format!("MarkdownView({namespace}:{name}) degraded");
    let available = format!("MarkdownView({namespace}:{name}) available");
    [
        ("Degraded", EventNote::warning("Degraded", "Reconcile", degraded)),
        ("Available", EventNote::normal("Available", "Reconcile", available)),
    ]
}

fn labels(instance: &str) -> BTreeMap<&'static str, String> {
    BTreeMap::from([
        ("app.kubernetes.io/name", "mdbook".to_owned()),
        ("app.kubernetes.io/instance", instance.to_owned()),
        ("app.kubernetes.io/created-by", FIELD_OWNER.to_owned()),
    ])
}
