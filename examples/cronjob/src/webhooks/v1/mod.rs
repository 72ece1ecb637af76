// SPDX-License-Identifier: Apache-2.0

//! The webhooks of `v1`.

pub mod cron_job;
