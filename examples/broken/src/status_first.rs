// SPDX-License-Identifier: Apache-2.0

//! Says that it is done before it is. After a crash it believes its own words.

use kubewright::prelude::*;

use crate::{AppStatus, Children, ensure, operator, set_status};

/// With the mistake.
pub fn broken() -> Operator {
    operator(Children::Watched, |client, app| async move {
        if app.status.as_ref().is_some_and(|status| status.ready) {
            return Ok(Action::done());
        }
        set_status(
            &client,
            &app,
            AppStatus {
                ready: true,
                ..AppStatus::default()
            },
        )
        .await?;
        ensure(&client, &app).await?;
        Ok(Action::done())
    })
}

/// Does it first, and whatever the status says.
pub fn fixed() -> Operator {
    operator(Children::Watched, |client, app| async move {
        ensure(&client, &app).await?;
        set_status(
            &client,
            &app,
            AppStatus {
                ready: true,
                ..AppStatus::default()
            },
        )
        .await?;
        Ok(Action::done())
    })
}
