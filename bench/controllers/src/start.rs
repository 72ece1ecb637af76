//! Measures what an unused cluster costs.

use std::time::Instant;

use futures_util::future::join_all;
use http::Request;
use kubewright_controllers::Controllers;
use serde::{Deserialize, Serialize};
use tokio::runtime::Builder;

use crate::cluster::Cluster;
use crate::{Failure, follow, process};

/// The figures of one kind of cluster.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Start {
    pub(crate) what: String,
    pub(crate) clusters: usize,
    /// The median of the seconds that one cluster takes until it is quiet, including the time to notice that.
    pub(crate) alone: f64,
    /// Seconds of processor time of each cluster.
    pub(crate) cpu: f64,
    /// Seconds until all clusters are quiet when they are started at once.
    pub(crate) together: f64,
    /// Bytes of resident memory of each cluster while all of them run.
    pub(crate) resident: u64,
    pub(crate) watches: usize,
}

pub(crate) fn measure(clusters: usize) -> Result<Vec<Start>, Failure> {
    let few: Controllers = "deployment,replicaset,scheduler,kubelet".parse()?;
    let kinds = [
        ("the server alone", Controllers::none()),
        ("Deployments and Pods", few),
        ("all but the garbage collector", "*,-gc".parse()?),
        ("all controllers", Controllers::all()),
    ];
    // The first cluster builds what all clusters of the process share, so it is not measured.
    runtime()?.block_on(one(&Controllers::all()))?;
    kinds
        .into_iter()
        .map(|(what, controllers)| of(what, &controllers, clusters))
        .collect()
}

fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    Ok(Builder::new_current_thread().enable_all().build()?)
}

fn of(what: &str, controllers: &Controllers, clusters: usize) -> Result<Start, Failure> {
    let cpu = process::cpu();
    let mut times = Vec::new();
    for _ in 0..clusters {
        times.push(runtime()?.block_on(one(controllers))?);
    }
    let cpu = (process::cpu() - cpu) / clusters as f64;
    times.sort_by(f64::total_cmp);
    let (together, resident, watches) = Builder::new_multi_thread()
        .enable_all()
        .build()?
        .block_on(many(controllers, clusters))?;
    Ok(Start {
        what: what.to_owned(),
        clusters,
        alone: times[times.len() / 2],
        cpu,
        together,
        resident,
        watches,
    })
}

async fn one(controllers: &Controllers) -> Result<f64, Failure> {
    let began = Instant::now();
    let cluster = Cluster::start(controllers);
    let settled = follow::quiet(&cluster.server).await.saturating_duration_since(began);
    cluster.stop().await?;
    Ok(settled.as_secs_f64())
}

async fn many(controllers: &Controllers, clusters: usize) -> Result<(f64, u64, usize), Failure> {
    let before = process::resident();
    let began = Instant::now();
    let running: Vec<Cluster> = (0..clusters).map(|_| Cluster::start(controllers)).collect();
    let settled = join_all(running.iter().map(|cluster| follow::quiet(&cluster.server))).await;
    let last = settled.into_iter().max().unwrap_or(began);
    let resident = process::resident().saturating_sub(before) / clusters.max(1) as u64;
    let watches = match running.first() {
        None => 0,
        Some(cluster) => watches(cluster).await?,
    };
    for cluster in running {
        cluster.stop().await?;
    }
    Ok((last.saturating_duration_since(began).as_secs_f64(), resident, watches))
}

/// How many watches are open, according to the server's metrics.
async fn watches(cluster: &Cluster) -> Result<usize, Failure> {
    let request = Request::get("/metrics").body(Vec::new())?;
    let text = cluster.server.client().request_text(request).await?;
    let open = text
        .lines()
        .filter(|line| line.starts_with("apiserver_longrunning_requests{"))
        .filter_map(|line| line.rsplit(' ').next()?.parse::<usize>().ok());
    Ok(open.sum())
}
