// Copyright The Ginoh Authors
// SPDX-License-Identifier: Apache-2.0

//! The controllers of `apps`.

pub mod deployment;
