// Copyright The Ginoh Authors
// SPDX-License-Identifier: Apache-2.0

//! The webhooks of `Pod`, called by hand.

use fleet::webhooks::core::v1::pod::{PodDefaulter, PodValidator};
use kubewright::k8s_openapi::api::core::v1::Pod;
use kubewright::prelude::*;

#[kubewright::test]
async fn an_object_is_admitted() {
    let mut object = Pod::default();
    let request = AdmissionRequest::create(&object);
    let defaulted = PodDefaulter.set_defaults(&mut object, &request).await;
    assert!(defaulted.is_ok());
    let verdict = PodValidator.validate_create(&object, &request).await;
    assert!(verdict.is_ok());
}
