// Copyright The Ginoh Authors
// SPDX-License-Identifier: Apache-2.0

//! `Frigate`s on a Kubernetes API in this process.

use fleet::api::ship::v1::Frigate;
use kubewright::testing::TestEnv;

const SAMPLE: &str = "config/samples/ship_v1_frigate.yaml";
const NAME: &str = "frigate-sample";

#[kubewright::test]
async fn a_sample_is_accepted_and_reconciled() {
    let env = TestEnv::start(fleet::operator()).await;
    env.apply_file(SAMPLE).await;
    let reconciles = "controller_runtime_reconcile_total";
    env.eventually_metric(reconciles, &[], |times| times > 0.0)
        .await;
    // Nothing is left to do, and nothing failed and waits for another try.
    let settled = env.settle().await;
    assert!(settled.delayed.is_empty(), "{:?}", settled.delayed);
    let object: Frigate = env.get(NAME).await;

    // Say here what your controller makes of it: its status, and what it creates.
    assert!(object.metadata.deletion_timestamp.is_none());
    env.assert_idempotent().await;
}
