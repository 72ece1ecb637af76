// SPDX-License-Identifier: Apache-2.0

//! Notes each attempt before it makes something, and gives up after two, so as not to try for ever. What fails is taken back; a note
//! that a crash or a lost answer followed is not. One is forgotten when all is there; two in a row are the end.

use kubewright::k8s_openapi::api::core::v1::ConfigMap;
use kubewright::prelude::*;

use crate::{App, AppStatus, Children, ensure, key, operator, set_status};

/// With the mistake.
pub fn broken() -> Operator {
    with_attempts(|attempts| attempts < 2)
}

/// Counts its attempts for those who read them, and goes on.
pub fn fixed() -> Operator {
    with_attempts(|_| true)
}

fn with_attempts(goes_on: fn(i32) -> bool) -> Operator {
    operator(Children::Watched, move |client, app| async move {
        let attempts = app.status.as_ref().map_or(0, |status| status.made);
        if client.get_opt::<ConfigMap>(&key(&app)).await?.is_some() {
            ensure(&client, &app).await?;
            note(&client, &app, 0).await?;
        } else if goes_on(attempts) {
            note(&client, &app, attempts + 1).await?;
            let made = ensure(&client, &app).await;
            if made.is_err()
                && let Some(noted) = client.get_opt::<App>(&key(&app)).await?
            {
                note(&client, &noted, attempts).await?;
            }
            made?;
        }
        Ok(Action::done())
    })
}

async fn note(client: &Client, app: &App, attempts: i32) -> Result<()> {
    let before = app.status.clone().unwrap_or_default();
    set_status(
        client,
        app,
        AppStatus {
            made: attempts,
            ..before
        },
    )
    .await
}
