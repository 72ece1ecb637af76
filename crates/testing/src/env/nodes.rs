//! Nodes that fail, and come back.

use std::panic::Location;

use k8s_openapi::api::core::v1::Node;
use kubewright_controllers::{ControllerName, FAILED_ANNOTATION};
use kubewright_runtime::client::Patch;
use kubewright_runtime::object::ObjectKey;
use serde_json::{Value, json};

use super::TestEnv;
use crate::Error;
use crate::control_plane::ControlPlane;
use crate::fail::or_fail;

impl TestEnv {
    /// Makes a simulated node fail: from now on it says and does nothing. What follows takes the time it takes in a cluster, so
    /// this is for virtual time: after 50 s the node is not ready and tainted, and its Pods are not ready; after 300 s more, or as
    /// long as their tolerations say, they are evicted, and whoever owns them makes others elsewhere. They are gone when the node
    /// is back ([`TestEnv::recover_node`]): nobody else can say that they have ended.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// use k8s_openapi::api::apps::v1::Deployment;
    /// use kubewright_testing::TestEnv;
    /// use std::time::Duration;
    ///
    /// let env = TestEnv::builder().nodes(2).embedded().start().await;
    /// env.settle().await; // both nodes are ready
    /// env.apply(
    ///     "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {replicas: 4, selector: {matchLabels: {app: web}},
    ///       template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: nginx}]}}}}",
    /// )
    /// .await;
    /// env.settle().await;
    /// env.fail_node("node-1").await;
    /// let ready = async || env.get::<Deployment>("web").await.status.unwrap_or_default().ready_replicas;
    /// env.advance(Duration::from_secs(60)).await;
    /// assert!(ready().await < Some(4));
    /// env.advance(Duration::from_secs(300)).await;
    /// assert_eq!(ready().await, Some(4)); // all on node-2
    /// env.recover_node("node-1").await;
    /// # }
    /// ```
    #[track_caller]
    pub fn fail_node(&self, name: &str) -> impl Future<Output = ()> {
        or_fail(Location::caller(), self.try_fail_node(name))
    }

    /// As [`fail_node`](Self::fail_node), but returns the error instead of failing the test.
    pub async fn try_fail_node(&self, name: &str) -> Result<(), Error> {
        self.set_failed(name, json!("true")).await
    }

    /// Brings a node back that failed: it is ready again, and ends the Pods that were evicted meanwhile.
    #[track_caller]
    pub fn recover_node(&self, name: &str) -> impl Future<Output = ()> {
        or_fail(Location::caller(), self.try_recover_node(name))
    }

    /// As [`recover_node`](Self::recover_node), but returns the error instead of failing the test.
    pub async fn try_recover_node(&self, name: &str) -> Result<(), Error> {
        self.set_failed(name, Value::Null).await
    }

    async fn set_failed(&self, name: &str, failed: Value) -> Result<(), Error> {
        const WHAT: &str = "failing a node";
        if let ControlPlane::Existing(_) = self.control_plane()? {
            return Err(Error::NotThere {
                what: WHAT,
                mode: self.mode_name(),
                remedy: "its nodes are real; start the environment with `TestEnv::builder().operator(…).embedded()` to keep this \
                         test on simulated ones",
            });
        }
        let needed = [
            ControllerName::Kubelet,
            ControllerName::NodeLifecycle,
            ControllerName::TaintEviction,
        ];
        let runs = |name: &ControllerName| self.settings.controllers.contains(*name);
        if let Some(missing) = needed.into_iter().find(|name| !runs(name)) {
            return Err(Error::ControllerOff { what: WHAT, missing });
        }
        self.known_node(name).await?;
        let patch = Patch::Merge(json!({ "metadata": { "annotations": { FAILED_ANNOTATION: failed } } }));
        let patched = self.client.patch::<Node>(&ObjectKey::cluster(name), &patch).await;
        patched.map(drop).map_err(Error::client)
    }

    /// Sees to it that there is such a node. Those that the controllers make may still be on their way.
    async fn known_node(&self, name: &str) -> Result<(), Error> {
        let reports = |node: &Node| {
            let status = node.status.as_ref();
            status.is_some_and(|status| {
                status
                    .conditions
                    .as_ref()
                    .is_some_and(|conditions| !conditions.is_empty())
            })
        };
        if self.try_get::<Node>(name).await?.as_ref().is_some_and(reports) {
            return Ok(());
        }
        self.try_settle().await?;
        let nodes = self.try_list::<Node>().await?;
        let names: Vec<_> = nodes.into_iter().filter_map(|node| node.metadata.name).collect();
        if names.iter().any(|known| known == name) {
            return Ok(());
        }
        let known = if names.is_empty() {
            "there is none".to_owned()
        } else {
            format!("there are {}", names.join(", "))
        };
        Err(Error::NoNode {
            name: name.to_owned(),
            known,
        })
    }
}
