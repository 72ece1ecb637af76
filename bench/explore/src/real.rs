//! The same scenario on a real etcd and kube-apiserver, as a test on envtest's binaries has it: started, taken once, stopped.

use std::path::Path;
use std::time::{Duration, Instant};

use kubewright::k8s_openapi::api::apps::v1::Deployment;
use kubewright::testing::{Mode, TestEnv};
use markdown_view::api::v1::MarkdownView;

use crate::Failure;
use crate::scenario::view;

/// The median of some rounds.
pub(crate) fn measure(assets: &Path, rounds: usize) -> Result<Duration, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let mut took = Vec::new();
    for _ in 0..rounds {
        took.push(runtime.block_on(round(assets)));
    }
    took.sort_unstable();
    Ok(took[took.len() / 2])
}

async fn round(assets: &Path) -> Duration {
    let began = Instant::now();
    let env = TestEnv::builder()
        .operator(markdown_view::operator())
        .mode(Mode::Binaries(assets.to_owned()))
        .deadline(Duration::from_mins(1))
        .start()
        .await;
    let ready = |replicas: i32| {
        move |deployment: &Deployment| {
            let status = deployment.status.as_ref();
            status.and_then(|status| status.ready_replicas) == Some(replicas)
        }
    };
    env.create(&view()).await;
    env.eventually("viewer-sample", ready(1)).await;
    env.edit::<MarkdownView>("sample", |view| view.spec.replicas = 3).await;
    env.eventually("viewer-sample", ready(3)).await;
    env.delete::<MarkdownView>("sample").await;
    env.eventually_gone::<Deployment>("viewer-sample").await;
    env.stop().await;
    began.elapsed()
}
