// SPDX-License-Identifier: Apache-2.0

//! The webhooks of `v1alpha1`.

pub mod bar;
