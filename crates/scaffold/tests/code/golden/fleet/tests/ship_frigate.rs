// Copyright The Ginoh Authors
// SPDX-License-Identifier: Apache-2.0

//! `Frigate`s on a Kubernetes API in this process.

use fleet::api::ship::v1::Frigate;
use kubewright::prelude::*;
use kubewright::testing::TestEnv;

const SAMPLE: &str = "config/samples/ship_v1_frigate.yaml";
const NAME: &str = "frigate-sample";

fn is_available(object: &Frigate) -> bool {
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
