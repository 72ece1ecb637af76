//! `Busybox`s on a Kubernetes API in this process.

use cache::api::v1alpha1::Busybox;
use kubewright::k8s_openapi::api::apps::v1::Deployment;
use kubewright::prelude::*;
use kubewright::testing::{TestEnv, matchers};

const SAMPLE: &str = "config/samples/cache_v1alpha1_busybox.yaml";
const NAME: &str = "busybox-sample";

fn is_kept(object: &Busybox) -> bool {
    !object.finalizers().is_empty()
}

fn grow(object: &mut Busybox) {
    object.spec.size = 2;
}

fn replicas(deployment: &Deployment) -> Option<i32> {
    deployment.spec.as_ref()?.replicas
}

fn has_one(deployment: &Deployment) -> bool {
    replicas(deployment) == Some(1)
}

fn has_two(deployment: &Deployment) -> bool {
    replicas(deployment) == Some(2)
}

#[kubewright::test]
async fn a_sample_gets_a_deployment_of_its_size() {
    let env = TestEnv::start(cache::operator()).await;
    env.apply_file(SAMPLE).await;
    env.eventually(NAME, has_one).await;
    env.edit(NAME, grow).await;
    env.eventually(NAME, has_two).await;
}

#[kubewright::test]
async fn it_is_available_when_its_pods_run() {
    let env = TestEnv::start(cache::operator()).await;
    env.apply_file(SAMPLE).await;
    // The controllers of the cluster bring its Deployment about, on a simulated node.
    let available = matchers::condition("Available", "True");
    env.eventually_matches::<Busybox>(NAME, available).await;
    env.assert_idempotent().await;
}

#[kubewright::test]
async fn it_is_cleaned_up_before_it_goes() {
    let env = TestEnv::start(cache::operator()).await;
    env.apply_file(SAMPLE).await;
    env.eventually(NAME, is_kept).await;
    env.delete::<Busybox>(NAME).await;
    env.eventually_gone::<Busybox>(NAME).await;
}
