// Copyright The Ginoh Authors
// SPDX-License-Identifier: Apache-2.0

//! The webhooks of `Frigate`, called by a Kubernetes API in this process.

use fleet::api::ship::v2::Frigate;
use kubewright::testing::TestEnv;

const SAMPLE: &str = "config/samples/ship_v2_frigate.yaml";
const NAME: &str = "frigate-sample";

#[kubewright::test]
async fn a_sample_is_admitted() {
    let env = TestEnv::start(fleet::operator()).await;
    env.apply_file(SAMPLE).await;
    let stored: Frigate = env.get(NAME).await;

    // Say here what your defaults make of it, and let `env.try_apply(…)` show what is refused.
    assert!(stored.metadata.uid.is_some());
}
