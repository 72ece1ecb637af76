// SPDX-License-Identifier: Apache-2.0

//! Does not ask whether the App is being deleted. In the foreground, what the garbage collector deletes is made again, for ever.

use kubewright::prelude::*;

use crate::{Children, ensure, operator_of_all};

/// With the mistake.
pub fn broken() -> Operator {
    operator_of_all(Children::Watched, |client, app| async move {
        ensure(&client, &app).await?;
        Ok(Action::done())
    })
}

/// What is being deleted needs nothing any more.
pub fn fixed() -> Operator {
    operator_of_all(Children::Watched, |client, app| async move {
        if app.metadata.deletion_timestamp.is_none() {
            ensure(&client, &app).await?;
        }
        Ok(Action::done())
    })
}
