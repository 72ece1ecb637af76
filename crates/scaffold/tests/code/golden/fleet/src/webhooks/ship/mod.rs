// Copyright The Ginoh Authors
// SPDX-License-Identifier: Apache-2.0

//! The webhooks of `ship`.

pub mod v1;
pub mod v2;
