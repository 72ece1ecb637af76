{{header}}//! Watches every `{{kind}}`.

{{imports}}

/// Reconciles `{{kind}}`s.
pub struct {{kind}}Reconciler {
    client: Client,
}

impl {{kind}}Reconciler {
    /// What is reconciled, and what else wakes it: add `.watches::<ConfigMap>(…)` and the like.
    pub fn controller() -> Controller {
        {{controller}}
    }

    /// A reconciler with the operator's client.
    pub fn new(context: &Context) -> Self {
        Self {
            client: context.client(),
        }
    }
}

// What may be read follows from what is watched. Say here what the controller writes, as in
// `#[rbac(groups = "apps", resources = "deployments", verbs = "patch")]`.
impl Reconciler for {{kind}}Reconciler {
    // Called whenever something changed, and again after a failure: compare what is with what should be.
    async fn reconcile(&self, request: Request) -> Result {
        {{get}}
            return Ok(Action::done());
        };

        // Do here what has to be done about the object.
        kubewright::tracing::info!(%request, uid = object.metadata.uid, "seen");
        Ok(Action::done())
    }
}
