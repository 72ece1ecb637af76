// SPDX-License-Identifier: Apache-2.0

//! The same seed gives the same run: equal writes, equal objects and equal traces. `.ci/full` compares a hundred.

use kubewright::testing::explore::explore;

#[kubewright::test]
async fn the_same_seed_gives_the_same_run() {
    let summary = explore(bar_controller::operator)
        .samples("config/samples")
        .repeats(5)
        .classes([])
        .run()
        .await;
    assert_eq!(summary.runs(), 0, "{summary}");
}
