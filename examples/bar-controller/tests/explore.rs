// SPDX-License-Identifier: Apache-2.0

//! The samples are created and deleted again and again, and each time the operator crashes at
//! another of its writes: in the end everything is as if nothing had happened.
//! `kubewright explore` runs this test with all else that can go wrong.

use kubewright::testing::explore::{Class, explore};

#[kubewright::test]
async fn crashes_and_restarts_do_no_harm() {
    explore(bar_controller::operator)
        .samples("config/samples")
        .classes([Class::Restart, Class::Crash])
        .run()
        .await;
}
