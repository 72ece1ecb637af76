// Copyright The Ginoh Authors
// SPDX-License-Identifier: Apache-2.0

//! The kinds of `sea_creatures/v1alpha1`.

mod kraken;

pub use kraken::*;
