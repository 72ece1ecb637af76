// Copyright The Ginoh Authors
// SPDX-License-Identifier: Apache-2.0

//! Nothing gets lost between the versions of a `Frigate`.

use fleet::api::ship::v1;
use fleet::api::ship::v1beta1;
use fleet::api::ship::v2;
use kubewright::testing::conversion_round_trips;

#[test]
fn v1beta1_and_v1_hold_the_same() {
    conversion_round_trips::<v1::Frigate, v1beta1::Frigate>();
}

#[test]
fn v2_and_v1_hold_the_same() {
    conversion_round_trips::<v1::Frigate, v2::Frigate>();
}
