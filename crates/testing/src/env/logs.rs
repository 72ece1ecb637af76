//! Sets and reads the logs of containers.

use std::panic::Location;

use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::api::LogParams;
use kubewright_runtime::object::{Kind, ObjectKey};

use super::{Name, TestEnv};
use crate::Error;
use crate::control_plane::ControlPlane;
use crate::fail::or_fail;

/// The name of this feature in errors of control planes without containers.
const READING: &str = "reading logs";

impl TestEnv {
    /// Sets what a container of a Pod has printed, all of it: simulated containers print nothing by themselves. Whoever reads the
    /// Pod's log gets it: the operator, [`TestEnv::logs`], `kubectl logs`.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// use kubewright_testing::TestEnv;
    ///
    /// let env = TestEnv::builder().embedded().start().await;
    /// env.apply("{apiVersion: v1, kind: Pod, metadata: {name: web}, spec: {containers: [{name: app, image: nginx}]}}").await;
    /// env.set_logs("web", "app", "listening\nready\n").await;
    /// assert_eq!(env.logs("web").await, "listening\nready\n");
    ///
    /// let error = env.try_set_logs("web", "sidecar", "").await.unwrap_err();
    /// assert!(error.text().ends_with("has no container sidecar; it has app"), "{}", error.text());
    /// # }
    /// ```
    #[track_caller]
    pub fn set_logs(&self, pod: impl Into<Name>, container: &str, text: impl Into<String>) -> impl Future<Output = ()> {
        or_fail(Location::caller(), self.try_set_logs(pod, container, text))
    }

    /// As [`set_logs`](Self::set_logs), but returns the error instead of failing the test.
    pub fn try_set_logs(
        &self,
        pod: impl Into<Name>,
        container: &str,
        text: impl Into<String>,
    ) -> impl Future<Output = Result<(), Error>> {
        let (name, text) = (pod.into(), text.into());
        async move {
            let Some(server) = self.control_plane()?.server() else {
                return Err(Error::EmbeddedOnly {
                    what: "setting logs",
                    mode: self.mode_name(),
                    remedy: "start the environment with `TestEnv::builder().operator(…).embedded()` to keep this test there",
                });
            };
            let key = self.pod_key(&name);
            let pod = self.client.get::<Pod>(&key).await.map_err(Error::client)?;
            let spec = pod.spec.clone().unwrap_or_default();
            let init = spec.init_containers.unwrap_or_default();
            let names: Vec<_> = spec
                .containers
                .iter()
                .chain(&init)
                .map(|own| own.name.as_str())
                .collect();
            if !names.contains(&container) {
                let names = names.join(", ");
                return Err(Error::Client(
                    format!("Pod {key} has no container {container}; it has {names}"),
                    None,
                ));
            }
            server.set_pod_log(key.namespace().unwrap_or_default(), key.name(), container, text);
            Ok(())
        }
    }

    /// What the only container of a Pod has printed. With several, [`TestEnv::container_logs`] says which.
    #[track_caller]
    pub fn logs(&self, pod: impl Into<Name>) -> impl Future<Output = String> {
        or_fail(Location::caller(), self.try_logs(pod, None))
    }

    /// What a container of a Pod has printed.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// use kubewright_testing::TestEnv;
    ///
    /// let env = TestEnv::builder().embedded().start().await;
    /// env.apply(
    ///     "{apiVersion: v1, kind: Pod, metadata: {name: web},
    ///       spec: {containers: [{name: app, image: nginx}, {name: proxy, image: envoy}]}}",
    /// )
    /// .await;
    /// env.set_logs("web", "proxy", "ready\n").await;
    /// assert_eq!(env.container_logs("web", "proxy").await, "ready\n");
    ///
    /// let error = env.try_logs("web", None).await.unwrap_err();
    /// assert!(error.text().contains("choose one of: [app proxy]"), "{}", error.text());
    /// # }
    /// ```
    #[track_caller]
    pub fn container_logs(&self, pod: impl Into<Name>, container: &str) -> impl Future<Output = String> {
        or_fail(Location::caller(), self.try_logs(pod, Some(container)))
    }

    /// As [`logs`](Self::logs), but returns the error instead of failing the test. `None` is the only container of the Pod.
    pub fn try_logs(
        &self,
        pod: impl Into<Name>,
        container: Option<&str>,
    ) -> impl Future<Output = Result<String, Error>> {
        let name = pod.into();
        async move {
            if let ControlPlane::Binaries(_) = self.control_plane()? {
                return Err(Error::NotThere {
                    what: READING,
                    mode: self.mode_name(),
                    remedy: "nobody runs containers there; start the environment with \
                             `TestEnv::builder().operator(…).embedded()` to keep this test where logs can be set",
                });
            }
            let key = self.pod_key(&name);
            let pods: Api<Pod> = Api::namespaced(self.kube(), key.namespace().unwrap_or_default());
            let params = LogParams {
                container: container.map(str::to_owned),
                ..LogParams::default()
            };
            let logs = pods.logs(key.name(), &params).await;
            logs.map_err(|error| Error::kube(&format!("the logs of Pod {key}"), error))
        }
    }

    fn pod_key(&self, name: &Name) -> ObjectKey {
        name.key(&Kind::of::<Pod>(), self.namespace())
    }
}
