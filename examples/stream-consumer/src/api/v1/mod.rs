// SPDX-License-Identifier: Apache-2.0

//! The kinds of `v1`.

mod consumer;

pub use consumer::*;
