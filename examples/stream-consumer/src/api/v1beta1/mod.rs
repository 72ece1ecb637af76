// SPDX-License-Identifier: Apache-2.0

//! The kinds of `v1beta1`.

mod consumer;

pub use consumer::*;
