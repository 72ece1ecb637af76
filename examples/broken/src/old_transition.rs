// SPDX-License-Identifier: Apache-2.0

//! Keeps the time of a condition when its status changes: nobody can tell since when it is so.

use kubewright::prelude::*;

use crate::{App, Children, ensure, operator, set_status};

/// The text with which an App is not ready.
const NOT_READY: &str = "world";

fn update(app: &App) -> ConditionUpdate {
    if app.spec.text == NOT_READY {
        ConditionUpdate::is_false("Ready", "World")
    } else {
        ConditionUpdate::is_true("Ready", "Made")
    }
}

/// With the mistake.
pub fn broken() -> Operator {
    operator(Children::Watched, |client, app| async move {
        ensure(&client, &app).await?;
        let mut status = app.status.clone().unwrap_or_default();
        let since = find_condition(&status.conditions, "Ready").map(|ready| ready.last_transition_time.clone());
        set_condition(&mut status.conditions, &update(&app), client.clock().now());
        for condition in &mut status.conditions {
            if let Some(since) = &since {
                condition.last_transition_time = since.clone();
            }
        }
        set_status(&client, &app, status).await?;
        Ok(Action::done())
    })
}

/// Leaves the time to the helper.
pub fn fixed() -> Operator {
    operator(Children::Watched, |client, app| async move {
        ensure(&client, &app).await?;
        let mut status = app.status.clone().unwrap_or_default();
        set_condition(&mut status.conditions, &update(&app), client.clock().now());
        set_status(&client, &app, status).await?;
        Ok(Action::done())
    })
}
