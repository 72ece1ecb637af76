// SPDX-License-Identifier: Apache-2.0

//! Writes again and again, though nothing changes.

use kubewright::prelude::*;
use std::time::Duration;

use crate::{AppStatus, Children, ensure, operator, set_status};

/// With the mistake.
pub fn broken() -> Operator {
    operator(Children::Watched, |client, app| async move {
        ensure(&client, &app).await?;
        let made = app.status.as_ref().map_or(0, |status| status.made) + 1;
        set_status(
            &client,
            &app,
            AppStatus {
                made,
                ..AppStatus::default()
            },
        )
        .await?;
        Ok(Action::requeue_after(Duration::from_secs(5)))
    })
}

/// Says what there is, not how often it looked.
pub fn fixed() -> Operator {
    operator(Children::Watched, |client, app| async move {
        ensure(&client, &app).await?;
        set_status(
            &client,
            &app,
            AppStatus {
                made: 1,
                ..AppStatus::default()
            },
        )
        .await?;
        Ok(Action::requeue_after(Duration::from_secs(5)))
    })
}
