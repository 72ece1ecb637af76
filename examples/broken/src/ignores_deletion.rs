// SPDX-License-Identifier: Apache-2.0

//! Does not look whether the App is being deleted. While an App that is deleted in the foreground waits for what it owns to go, that is
//! made again and again, and the App never goes.

use kubewright::prelude::*;

use crate::{Children, ensure, operator, operator_of_all};

/// With the mistake.
pub fn broken() -> Operator {
    operator_of_all(Children::Watched, |client, app| async move {
        ensure(&client, &app).await?;
        Ok(Action::done())
    })
}

/// For an App that is being deleted, nothing is made any more.
pub fn fixed() -> Operator {
    operator(Children::Watched, |client, app| async move {
        ensure(&client, &app).await?;
        Ok(Action::done())
    })
}
