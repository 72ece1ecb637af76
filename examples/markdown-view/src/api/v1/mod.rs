// SPDX-License-Identifier: Apache-2.0

//! The kinds of `v1`.

mod markdown_view;

pub use markdown_view::*;
