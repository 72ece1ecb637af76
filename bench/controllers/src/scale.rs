//! Measures how long a number of Pods take until they run, until all are replaced, and until all are deleted.

use std::time::{Duration, Instant};

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
use k8s_openapi::api::core::v1::{Pod, Service};
use kube::api::{DeleteParams, ListParams, Patch, PatchParams};
use kubewright_controllers::Controllers;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::cluster::Cluster;
use crate::{Failure, follow, process};

/// A simulated node has room for 1000 Pods; half of them leaves room for a rolling update.
const PODS_OF_A_NODE: usize = 500;
/// How many requests the benchmark has in flight at once.
const AT_ONCE: usize = 8;

/// The objects that are created.
#[derive(Clone, Copy)]
pub(crate) struct Size {
    pub(crate) deployments: usize,
    pub(crate) replicas: usize,
    pub(crate) services: bool,
}

/// The figures of one phase.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Row {
    pub(crate) phase: String,
    pub(crate) pods: usize,
    /// Seconds until the cluster has the state that was asked for.
    pub(crate) settled: f64,
    /// Seconds until the last write, including those of events.
    pub(crate) quiet: f64,
    pub(crate) writes: u64,
    pub(crate) cpu: f64,
    pub(crate) resident: u64,
}

/// The counters at the beginning of a phase.
struct Before {
    began: Instant,
    cpu: f64,
    revision: u64,
}

pub(crate) fn measure(size: Size) -> Result<Vec<Row>, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(phases(size))
}

async fn phases(size: Size) -> Result<Vec<Row>, Failure> {
    let pods = size.deployments * size.replicas;
    let cluster = Cluster::start(&Controllers::all().nodes(1 + pods / PODS_OF_A_NODE));
    follow::quiet(&cluster.server).await;
    let deployments = cluster.api::<Deployment>();
    let mut rows = Vec::new();

    let before = Before::now(&cluster);
    each(size, async |number| {
        let name = format!("web-{number}");
        if size.services {
            cluster.create::<Service>(service(&name)).await?;
        }
        cluster.create::<Deployment>(deployment(&name, size.replicas)).await
    })
    .await?;
    follow::available(&deployments, size.deployments).await?;
    rows.push(before.row("create", pods, &cluster).await);

    let before = Before::now(&cluster);
    let change = json!({ "spec": { "template": { "metadata": { "annotations": { "round": "2" } } } } });
    each(size, async |number| {
        let name = format!("web-{number}");
        deployments
            .patch(&name, &PatchParams::default(), &Patch::Merge(&change))
            .await?;
        Ok(())
    })
    .await?;
    follow::available(&deployments, size.deployments).await?;
    rows.push(before.row("roll", pods, &cluster).await);

    let before = Before::now(&cluster);
    deployments
        .delete_collection(&DeleteParams::background(), &ListParams::default())
        .await?;
    follow::gone(&deployments).await?;
    follow::gone(&cluster.api::<ReplicaSet>()).await?;
    follow::gone(&cluster.api::<Pod>()).await?;
    rows.push(before.row("delete", pods, &cluster).await);

    cluster.stop().await?;
    Ok(rows)
}

async fn each(size: Size, work: impl AsyncFn(usize) -> Result<(), Failure>) -> Result<(), Failure> {
    stream::iter(0..size.deployments)
        .map(|number| work(number))
        .buffer_unordered(AT_ONCE)
        .try_collect()
        .await
}

fn deployment(name: &str, replicas: usize) -> Value {
    json!({
        "metadata": { "name": name },
        "spec": {
            "replicas": replicas, "selector": { "matchLabels": { "app": name } },
            "template": {
                "metadata": { "labels": { "app": name } },
                "spec": { "containers": [{
                    "name": "web", "image": "nginx", "resources": { "requests": { "cpu": "10m", "memory": "16Mi" } },
                }] },
            },
        },
    })
}

fn service(name: &str) -> Value {
    json!({ "metadata": { "name": name }, "spec": { "selector": { "app": name }, "ports": [{ "port": 80 }] } })
}

impl Before {
    fn now(cluster: &Cluster) -> Self {
        Before {
            began: Instant::now(),
            cpu: process::cpu(),
            revision: cluster.server.revision(),
        }
    }

    async fn row(self, phase: &str, pods: usize, cluster: &Cluster) -> Row {
        let settled = self.began.elapsed();
        let last = follow::quiet(&cluster.server).await;
        let quiet = last.saturating_duration_since(self.began).max(Duration::ZERO);
        Row {
            phase: phase.to_owned(),
            pods,
            settled: settled.as_secs_f64(),
            quiet: quiet.as_secs_f64(),
            writes: cluster.server.revision() - self.revision,
            cpu: process::cpu() - self.cpu,
            resident: process::resident(),
        }
    }
}
