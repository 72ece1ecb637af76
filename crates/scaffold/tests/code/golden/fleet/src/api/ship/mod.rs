// Copyright The Ginoh Authors
// SPDX-License-Identifier: Apache-2.0

//! The kinds of `ship`.

pub mod v1;
pub mod v1beta1;
pub mod v2;
