// Copyright The Ginoh Authors
// SPDX-License-Identifier: Apache-2.0

//! `Kraken`s on a Kubernetes API in this process.

use fleet::api::sea_creatures::v1alpha1::Kraken;
use kubewright::prelude::*;
use kubewright::testing::TestEnv;

const SAMPLE: &str = "config/samples/sea-creatures_v1alpha1_kraken.yaml";
const NAME: &str = "kraken-sample";

fn is_available(object: &Kraken) -> bool {
    let status = object.status.as_ref();
    status.is_some_and(|status| is_condition_true(&status.conditions, "Available"))
}

#[kubewright::test]
async fn a_sample_is_accepted_and_reconciled() {
    let env = TestEnv::start(fleet::operator()).await;
    env.apply_file(SAMPLE).await;
    env.eventually(NAME, is_available).await;
    env.assert_idempotent().await;
}
