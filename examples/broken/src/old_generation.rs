// SPDX-License-Identifier: Apache-2.0

//! Says once which generation it has seen. After a change, the status tells of the one before, and whoever waits for it waits for ever.

use kubewright::prelude::*;

use crate::{AppStatus, Children, ensure, operator, set_status};

/// With the mistake.
pub fn broken() -> Operator {
    operator(Children::Watched, |client, app| async move {
        ensure(&client, &app).await?;
        let known = app.status.as_ref().and_then(|status| status.observed_generation);
        set_status(
            &client,
            &app,
            AppStatus {
                observed_generation: known.or(app.metadata.generation),
                ..AppStatus::default()
            },
        )
        .await?;
        Ok(Action::done())
    })
}

/// Says it each time.
pub fn fixed() -> Operator {
    operator(Children::Watched, |client, app| async move {
        ensure(&client, &app).await?;
        set_status(
            &client,
            &app,
            AppStatus {
                observed_generation: app.metadata.generation,
                ..AppStatus::default()
            },
        )
        .await?;
        Ok(Action::done())
    })
}
