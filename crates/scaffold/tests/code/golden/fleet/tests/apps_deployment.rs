// Copyright The Ginoh Authors
// SPDX-License-Identifier: Apache-2.0

//! `Deployment`s on a Kubernetes API in this process.

use kubewright::testing::TestEnv;

#[kubewright::test]
async fn the_operator_starts_with_the_role_it_asks_for() {
    let env = TestEnv::start(fleet::operator()).await;

    // Create objects with `env.apply(…)` here, and say what should come of them.
    env.stop().await;
}
