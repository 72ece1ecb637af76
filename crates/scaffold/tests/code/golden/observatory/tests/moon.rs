//! `Moon`s behind a Kubernetes API in this process.

use kubewright::kube::Api;
use kubewright::testing::TestEnv;
use observatory::api::v1::Moon;

#[kubewright::test]
async fn the_example_is_served() {
    let env = TestEnv::start(observatory::operator()).await;
    let objects: Api<Moon> = Api::all(env.kube());
    let example = objects.get("example").await.unwrap();

    // Say here what your rows are.
    assert!(example.metadata.uid.is_some());
}
