// Copyright The Ginoh Authors
// SPDX-License-Identifier: Apache-2.0

//! The kinds of `ship/v2`.

mod frigate;

pub use frigate::*;
