// Copyright The Ginoh Authors
// SPDX-License-Identifier: Apache-2.0

//! The kinds of `sea_creatures`.

pub mod v1alpha1;
