// SPDX-License-Identifier: Apache-2.0

//! The cronjob operator.

pub mod api;
pub mod controllers;
pub mod webhooks;

use kubewright::prelude::*;

/// What the operator is: the kinds it brings, its controllers and its webhooks. `main` runs it, tests
/// start it and `kubewright manifests` renders it.
pub fn operator() -> Operator {
    Operator::new("cronjob")
        .resource::<api::v1::CronJob>()
        .controller(controllers::cron_job::CronJobReconciler::controller())
        .webhook(webhooks::v1::cron_job::webhook())
        .resource::<api::v2::CronJob>()
        .conversion(webhooks::v1::cron_job::conversion())
    // kubewright:scaffold:operator
}
