//! The logic: compares the Deployment with what its Foo asks for, and changes what differs.

use k8s_openapi::api::apps::v1::Deployment;
use kube::api::PostParams;
use kube::{Api, ResourceExt as _};
use kubewright::cache::ReadError;
use kubewright::events::EventNote;
use kubewright::object::ObjectKey;

use crate::CONTROLLER_AGENT_NAME;
use crate::api::Foo;
use crate::controller::{Controller, StatusBy};
use crate::deployment::{self, NotCreated};

/// Why a Foo could not be synced. It is tried again later.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SyncError {
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error("{}", words(.0))]
    Api(#[from] kube::Error),
    #[error(transparent)]
    NotCreated(#[from] NotCreated),
    /// Somebody else's Deployment has the name. The text is the event's.
    #[error("Resource {0:?} already exists and is not managed by Foo")]
    ResourceExists(String),
}

impl Controller {
    /// Makes the world as one Foo wants it.
    pub(crate) async fn sync_handler(&self, key: &ObjectKey) -> Result<(), SyncError> {
        let Some(foo) = self.foos.get(key)? else {
            tracing::error!(object = %key, "Foo referenced by item in work queue no longer exists");
            return Ok(());
        };
        let name = foo.spec.deployment_name.as_str();
        if name.is_empty() {
            // Trying again would not help; an edit of the Foo wakes it.
            tracing::error!(object = %key, "Deployment name missing from object reference");
            return Ok(());
        }

        let namespace = key.namespace().unwrap_or_default();
        let api = Api::<Deployment>::namespaced(self.kube.clone(), namespace);
        // The cache may be behind our own last write. Then the create is refused, and the next try sees more.
        let found = self.deployments.get(&ObjectKey::namespaced(namespace, name))?;
        let mut deployment = match found {
            Some(deployment) => deployment.into_owned(),
            None => api.create(&post(), &deployment::wanted_by(&foo)?).await?,
        };

        if !deployment::is_controlled_by(&deployment, &foo) {
            let error = SyncError::ResourceExists(deployment.name_any());
            let note = EventNote::warning("ErrResourceExists", "Sync", error.to_string());
            self.recorder.record(&*foo, note);
            return Err(error);
        }

        let current = deployment.spec.as_ref().and_then(|spec| spec.replicas);
        if foo.spec.replicas.is_some() && foo.spec.replicas != current {
            tracing::debug!(?current, desired = ?foo.spec.replicas, "Update deployment resource");
            deployment = api.replace(name, &post(), &deployment::wanted_by(&foo)?).await?;
        }

        self.update_foo_status(&foo, &deployment).await?;
        let note = EventNote::normal("Synced", "Sync", "Foo synced successfully");
        self.recorder.record(&*foo, note);
        Ok(())
    }

    /// Every sync writes the status; the server makes no new version of what is the same.
    async fn update_foo_status(&self, foo: &Foo, deployment: &Deployment) -> Result<(), SyncError> {
        let status = deployment.status.as_ref();
        // What the lister gives is shared with all readers of the cache.
        let mut foo = foo.clone();
        foo.status.get_or_insert_default().available_replicas =
            status.and_then(|status| status.available_replicas).unwrap_or(0);
        let api = Api::<Foo>::namespaced(self.kube.clone(), &foo.namespace().unwrap_or_default());
        let name = foo.name_any();
        match self.status_by {
            StatusBy::Subresource => api.replace_status(&name, &post(), &foo).await?,
            StatusBy::Update => api.replace(&name, &post(), &foo).await?,
        };
        Ok(())
    }
}

/// What the server says is enough; its whole answer would fill the log.
fn words(error: &kube::Error) -> String {
    match error {
        kube::Error::Api(status) => status.message.clone(),
        other => other.to_string(),
    }
}

fn post() -> PostParams {
    PostParams {
        field_manager: Some(CONTROLLER_AGENT_NAME.to_owned()),
        ..PostParams::default()
    }
}
