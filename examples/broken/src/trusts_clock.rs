// SPDX-License-Identifier: Apache-2.0

//! Compares the server's times with its own clock. On a machine whose clock is ahead, what was made just now is old.

use kubewright::prelude::*;
use std::time::Duration;

use crate::{App, Children, ensure, operator};

/// An App that is older gets nothing any more.
const OLD: Duration = Duration::from_mins(30);

fn is_old(client: &Client, app: &App) -> bool {
    let made = app.metadata.creation_timestamp.as_ref();
    made.is_some_and(|made| client.clock().now().duration_since(made.0).unsigned_abs() > OLD)
}

/// With the mistake.
pub fn broken() -> Operator {
    operator(Children::Watched, |client, app| async move {
        if !is_old(&client, &app) {
            ensure(&client, &app).await?;
        }
        Ok(Action::done())
    })
}

/// Does what is asked for, whatever the time is.
pub fn fixed() -> Operator {
    operator(Children::Watched, |client, app| async move {
        ensure(&client, &app).await?;
        Ok(Action::done())
    })
}
