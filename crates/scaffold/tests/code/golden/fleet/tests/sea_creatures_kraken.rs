// Copyright The Ginoh Authors
// SPDX-License-Identifier: Apache-2.0

//! `Kraken`s on a Kubernetes API in this process.

use fleet::api::sea_creatures::v1alpha1::Kraken;
use kubewright::testing::TestEnv;

const SAMPLE: &str = "config/samples/sea-creatures_v1alpha1_kraken.yaml";
const NAME: &str = "kraken-sample";

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
    let object: Kraken = env.get(NAME).await;

    // Say here what your controller makes of it: its status, and what it creates.
    assert!(object.metadata.deletion_timestamp.is_none());
    env.assert_idempotent().await;
}
