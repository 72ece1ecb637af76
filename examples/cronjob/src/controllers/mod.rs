// SPDX-License-Identifier: Apache-2.0

//! The controllers of this operator.

pub mod cron_job;
