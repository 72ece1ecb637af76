//! A port of a Pod, forwarded through the API server. Each connection finds the Pod anew, so that a new leader is followed.

use std::io;

use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kubewright_cluster::{Cluster, describe_failure, with_sources};
use kubewright_view::{Connect, Connecting, Connection};

use super::workload::{Target, pod};

pub(super) struct ForwardedPort {
    cluster: Cluster,
    namespace: String,
    target: Target,
    port: u16,
}

impl ForwardedPort {
    pub(super) fn new(client: kube::Client, namespace: &str, target: Target, port: u16) -> Self {
        ForwardedPort {
            cluster: Cluster::of(client, ""),
            namespace: namespace.to_owned(),
            target,
            port,
        }
    }
}

impl Connect for ForwardedPort {
    fn connect(&self) -> Connecting<'_> {
        Box::pin(async move {
            let pod = pod(&self.cluster, &self.target, &self.namespace)
                .await
                .map_err(|error| io::Error::other(with_sources(&error)))?;
            let pods: Api<Pod> = Api::namespaced(self.cluster.client().clone(), &self.namespace);
            let mut forwarder = pods
                .portforward(&pod, &[self.port])
                .await
                .map_err(|error| io::Error::other(format!("pod/{pod}: {}", describe_failure(&error))))?;
            let stream = forwarder.take_stream(self.port).ok_or(io::ErrorKind::NotConnected)?;
            Ok(Box::new(stream) as Box<dyn Connection>)
        })
    }
}
