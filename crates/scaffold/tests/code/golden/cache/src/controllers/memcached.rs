//! Runs an image for every `Memcached`: a Deployment of the size it asks for.

use kubewright::apply::apps::v1::*;
use kubewright::apply::core::v1::*;
use kubewright::apply::meta::v1::*;
use kubewright::k8s_openapi::api::apps::v1::Deployment;
use kubewright::prelude::*;

use crate::api::v1alpha1::Memcached;

/// The image that runs, unless the variable of the operator's environment names another.
const IMAGE: &str = "memcached:1.6.26-alpine3.19";
const IMAGE_VARIABLE: &str = "MEMCACHED_IMAGE";

/// What the labels of the Deployment say.
const APP: &str = "memcached";
const MANAGED_BY: &str = "MemcachedController";

/// Keeps an object until `clean_up` is through with it.
const FINALIZER: &str = "cache.example.com/finalizer";

/// Reconciles `Memcached`s.
pub struct MemcachedReconciler {
    client: Client,
    events: EventRecorder,
    image: String,
}

impl MemcachedReconciler {
    /// What is reconciled, and what else wakes it.
    pub fn controller() -> Controller {
        Controller::of::<Memcached>()
            .owns::<Deployment>()
            .reconcile_with(Self::new)
    }

    fn new(context: &Context) -> Self {
        Self {
            client: context.client().force(),
            events: context.events(),
            image: std::env::var(IMAGE_VARIABLE).unwrap_or_else(|_| IMAGE.to_owned()),
        }
    }

    /// The Deployment as it should be. Fields that are not set here are left to others.
    fn deployment(&self, object: &Memcached) -> Result<DeploymentApply> {
        let name = object.name_any();
        let labels = [
            ("app.kubernetes.io/name", APP),
            ("app.kubernetes.io/instance", name.as_str()),
            ("app.kubernetes.io/managed-by", MANAGED_BY),
        ];
        let command = ["memcached", "--memory-limit=64", "-o", "modern", "-v"];
        let port = ContainerPortApply::new()
            .name("memcached")
            .container_port(object.spec.container_port);
        let container = ContainerApply::new()
            .name(APP)
            .image(&self.image)
            .image_pull_policy("IfNotPresent")
            .command(command)
            .ports([port])
            .security_context(
                SecurityContextApply::new()
                    .run_as_non_root(true)
                    .run_as_user(1001)
                    .allow_privilege_escalation(false)
                    .capabilities(CapabilitiesApply::new().drop(["ALL"])),
            );
        let security = PodSecurityContextApply::new()
            .run_as_non_root(true)
            .seccomp_profile(SeccompProfileApply::new().type_("RuntimeDefault"));
        let pod = PodSpecApply::new()
            .security_context(security)
            .containers([container]);
        let template = PodTemplateSpecApply::new()
            .metadata(ObjectMetaApply::new().labels(labels))
            .spec(pod);
        let spec = DeploymentSpecApply::new()
            .replicas(object.spec.size)
            .selector(LabelSelectorApply::new().match_labels(labels))
            .template(template);
        let namespace = object.namespace().unwrap_or_default();
        let mut deployment = DeploymentApply::namespaced(namespace, &name)
            .labels(labels)
            .spec(spec);
        set_controller_reference(object, &mut deployment)?;
        Ok(deployment)
    }

    /// Does what has to be done before an object may go. The Deployment goes by itself: the object
    /// owns it.
    async fn clean_up(&self, mut object: Memcached) -> Result {
        if remove_finalizer(&mut object, FINALIZER) {
            let text = format!("{} is being deleted", object.name_any());
            let note = EventNote::normal("Deleting", "CleanUp", text);
            self.events.record(&object, note);
            self.client.update(&object).await?;
        }
        Ok(Action::done())
    }

    /// Tells in the status how many of the pods run.
    async fn report(&self, mut object: Memcached, deployment: &Deployment) -> Result {
        let status = deployment.status.clone().unwrap_or_default();
        let running = status.available_replicas.unwrap_or(0);
        let text = format!("{running} of {} pods are available", object.spec.size);
        let available = if running >= object.spec.size {
            ConditionUpdate::is_true("Available", "AllRun")
        } else {
            ConditionUpdate::is_false("Available", "Progressing")
        };
        let available = available.message(text).observed(object.metadata.generation);
        let conditions = &mut object.status.get_or_insert_default().conditions;
        if set_condition(conditions, &available, self.client.clock().now()) {
            self.client.update_status(&object).await?;
        }
        Ok(Action::done())
    }
}

// What may be read follows from what is watched.
#[rbac(groups = "apps", resources = "deployments", verbs = "create, patch")]
#[rbac(
    groups = "cache.example.com",
    resources = "memcacheds",
    verbs = "update"
)]
#[rbac(
    groups = "cache.example.com",
    resources = "memcacheds/status",
    verbs = "update"
)]
#[rbac(
    groups = "cache.example.com",
    resources = "memcacheds/finalizers",
    verbs = "update"
)]
impl Reconciler for MemcachedReconciler {
    // Called whenever something changed, and again after a failure: compare what is with what should be.
    async fn reconcile(&self, request: Request) -> Result {
        let Some(object) = self.client.get_opt::<Memcached>(&request).await? else {
            return Ok(Action::done());
        };
        let mut object = object.into_owned();
        if object.metadata.deletion_timestamp.is_some() {
            return self.clean_up(object).await;
        }
        if add_finalizer(&mut object, FINALIZER) {
            object = self.client.update(&object).await?;
        }
        let applied = self.client.apply(&self.deployment(&object)?).await?;
        if applied.outcome == Outcome::Created {
            let text = format!("created Deployment {}", object.name_any());
            let note = EventNote::normal("Created", "Reconcile", text);
            self.events.record(&object, note);
        }
        self.report(object, &applied.object.object()?).await
    }
}
