// SPDX-License-Identifier: Apache-2.0

//! Gives up at the first error and says so in the status, for ever. Acto has many that do not leave a failed state (cass-operator 334).

use kubewright::prelude::*;

use crate::{AppStatus, Children, ensure, operator, set_status};

fn ready() -> AppStatus {
    AppStatus {
        ready: true,
        ..AppStatus::default()
    }
}

fn failed() -> AppStatus {
    AppStatus {
        failed: true,
        ..AppStatus::default()
    }
}

/// With the mistake.
pub fn broken() -> Operator {
    operator(Children::Watched, |client, app| async move {
        if app.status.as_ref().is_some_and(|status| status.failed) {
            return Ok(Action::done());
        }
        let status = if ensure(&client, &app).await.is_ok() {
            ready()
        } else {
            failed()
        };
        set_status(&client, &app, status).await?;
        Ok(Action::done())
    })
}

/// Says that it failed, and tries again.
pub fn fixed() -> Operator {
    operator(Children::Watched, |client, app| async move {
        if let Err(error) = ensure(&client, &app).await {
            set_status(&client, &app, failed()).await?;
            return Err(error);
        }
        set_status(&client, &app, ready()).await?;
        Ok(Action::done())
    })
}
