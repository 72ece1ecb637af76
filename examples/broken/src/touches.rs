// SPDX-License-Identifier: Apache-2.0

//! Writes down when it looked. Every look is a write, and every write wakes whoever watches.

use kubewright::prelude::*;

use crate::{AppStatus, Children, ensure, operator, set_status};

/// With the mistake.
pub fn broken() -> Operator {
    operator(Children::Watched, |client, app| async move {
        ensure(&client, &app).await?;
        set_status(
            &client,
            &app,
            AppStatus {
                text: Some(format!("looked at {}", client.clock().stamp())),
                ..AppStatus::default()
            },
        )
        .await?;
        Ok(Action::done())
    })
}

/// Says what there is.
pub fn fixed() -> Operator {
    operator(Children::Watched, |client, app| async move {
        ensure(&client, &app).await?;
        set_status(
            &client,
            &app,
            AppStatus {
                text: Some("looked".to_owned()),
                ..AppStatus::default()
            },
        )
        .await?;
        Ok(Action::done())
    })
}
