//! An embedded server with controllers.

use kube::api::{Api, PostParams};
use kubewright_apiserver::{ApiServer, Options};
use kubewright_controllers::Controllers;
use kubewright_runtime::manager::ManagerError;
use kubewright_runtime::stop::Stopper;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::task::JoinHandle;

use crate::Failure;

/// A running cluster.
pub(crate) struct Cluster {
    pub(crate) server: ApiServer,
    stopper: Stopper,
    running: JoinHandle<Result<(), ManagerError>>,
}

impl Cluster {
    /// Starts the server, and the controllers in the background.
    pub(crate) fn start(controllers: &Controllers) -> Self {
        let server = ApiServer::new(Options::new());
        let (stopper, stop) = Stopper::new();
        let running = tokio::spawn(controllers.run(server.client(), stop));
        Cluster {
            server,
            stopper,
            running,
        }
    }

    /// The objects of a kind in the namespace `default`.
    pub(crate) fn api<K>(&self) -> Api<K>
    where
        K: kube::Resource<Scope = kube::core::NamespaceResourceScope, DynamicType = ()>,
    {
        Api::default_namespaced(self.server.client())
    }

    /// Makes an object from its JSON.
    pub(crate) async fn create<K>(&self, object: Value) -> Result<(), Failure>
    where
        K: kube::Resource<Scope = kube::core::NamespaceResourceScope, DynamicType = ()>
            + Clone
            + std::fmt::Debug
            + DeserializeOwned
            + serde::Serialize,
    {
        let object: K = serde_json::from_value(object)?;
        self.api::<K>().create(&PostParams::default(), &object).await?;
        Ok(())
    }

    /// Stops the controllers.
    pub(crate) async fn stop(self) -> Result<(), Failure> {
        self.stopper.stop();
        self.running.await??;
        Ok(())
    }
}
