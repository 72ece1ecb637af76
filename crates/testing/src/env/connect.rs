//! Answers the connections that clients open to ports of Pods.

use std::future::Future;
use std::panic::Location;

use k8s_openapi::api::core::v1::Pod;
use kubewright_apiserver::Connection;
use kubewright_runtime::object::Kind;

use super::{Name, TestEnv};
use crate::Error;
use crate::fail::or_fail;

impl TestEnv {
    /// Stands for a process of a Pod that listens on a port, for clients that come through the API server: `kubectl port-forward`,
    /// `Api::portforward`, and the proxies to Pods and Services. `serve` is called for each connection. Simulated containers have no
    /// processes; without an answer a client is told so.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// use kubewright_testing::TestEnv;
    /// use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    ///
    /// let env = TestEnv::builder().embedded().start().await;
    /// env.on_connect("database-0", 8008, |mut connection| async move {
    ///     let _ = connection.read(&mut [0; 4096]).await;
    ///     let _ = connection.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\nprimary").await;
    /// })
    /// .await;
    /// # }
    /// ```
    #[track_caller]
    pub fn on_connect<F, Fut>(&self, pod: impl Into<Name>, port: u16, serve: F) -> impl Future<Output = ()>
    where
        F: Fn(Box<dyn Connection>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        or_fail(Location::caller(), self.try_on_connect(pod, port, serve))
    }

    /// As [`on_connect`](Self::on_connect), but returns the error instead of failing the test.
    pub fn try_on_connect<F, Fut>(
        &self,
        pod: impl Into<Name>,
        port: u16,
        serve: F,
    ) -> impl Future<Output = Result<(), Error>>
    where
        F: Fn(Box<dyn Connection>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        let name = pod.into();
        async move {
            let Some(server) = self.control_plane()?.server() else {
                return Err(Error::EmbeddedOnly {
                    what: "answering connections",
                    mode: self.mode_name(),
                    remedy: "start the environment with `TestEnv::builder().operator(…).embedded()` to keep this test there",
                });
            };
            let key = name.key(&Kind::of::<Pod>(), self.namespace());
            server.on_connect(key.namespace().unwrap_or_default(), key.name(), port, serve);
            Ok(())
        }
    }
}
