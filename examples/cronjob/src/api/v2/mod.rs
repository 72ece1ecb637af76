// SPDX-License-Identifier: Apache-2.0

//! The kinds of `v2`.

mod cron_job;

pub use cron_job::*;
