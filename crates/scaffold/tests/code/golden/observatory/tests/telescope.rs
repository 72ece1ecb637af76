//! `Telescope`s on a Kubernetes API in this process.

use kubewright::testing::TestEnv;
use observatory::api::v1alpha1::Telescope;

const SAMPLE: &str = "config/samples/sky_v1alpha1_telescope.yaml";
const NAME: &str = "telescope-sample";

#[kubewright::test]
async fn a_sample_is_accepted_and_reconciled() {
    let env = TestEnv::start(observatory::operator()).await;
    env.apply_file(SAMPLE).await;
    let reconciles = "controller_runtime_reconcile_total";
    env.eventually_metric(reconciles, &[], |times| times > 0.0)
        .await;
    // Nothing is left to do, and nothing failed and waits for another try.
    let settled = env.settle().await;
    assert!(settled.delayed.is_empty(), "{:?}", settled.delayed);
    let object: Telescope = env.get(NAME).await;

    // Say here what your controller makes of it: its status, and what it creates.
    assert!(object.metadata.deletion_timestamp.is_none());
    env.assert_idempotent().await;
}
