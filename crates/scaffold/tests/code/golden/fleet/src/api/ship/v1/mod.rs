// Copyright The Ginoh Authors
// SPDX-License-Identifier: Apache-2.0

//! The kinds of `ship/v1`.

mod frigate;
mod harbour;

pub use frigate::*;
pub use harbour::*;
