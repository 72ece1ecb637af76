// SPDX-License-Identifier: Apache-2.0

//! Does not watch what it made: what others do to it is not seen.

use kubewright::prelude::*;

use crate::{Children, ensure, operator};

/// With the mistake.
pub fn broken() -> Operator {
    operator(Children::Unwatched, |client, app| async move {
        ensure(&client, &app).await?;
        Ok(Action::done())
    })
}

/// Watches it.
pub fn fixed() -> Operator {
    operator(Children::Watched, |client, app| async move {
        ensure(&client, &app).await?;
        Ok(Action::done())
    })
}
