// Copyright The Ginoh Authors
// SPDX-License-Identifier: Apache-2.0

//! The webhooks of `core/v1`.

pub mod pod;
