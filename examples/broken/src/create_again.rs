// SPDX-License-Identifier: Apache-2.0

//! Creates without expecting that it has created before: after a crash it fails for ever, as casskop when it
//! scales down (370).

use kubewright::k8s_openapi::api::core::v1::ConfigMap;
use kubewright::prelude::*;

use crate::{AppStatus, Children, ensure, key, operator, owned_config_map, set_status};

/// With the mistake.
pub fn broken() -> Operator {
    operator(Children::Watched, |client, app| async move {
        let is_ready = app.status.as_ref().is_some_and(|status| status.ready);
        let is_there = client.get_opt::<ConfigMap>(&key(&app)).await?.is_some();
        if !is_ready || !is_there {
            client.create(&owned_config_map(&app)?).await?;
            set_status(
                &client,
                &app,
                AppStatus {
                    ready: true,
                    ..AppStatus::default()
                },
            )
            .await?;
        } else {
            ensure(&client, &app).await?;
        }
        Ok(Action::done())
    })
}

/// Asks whether it is there, whatever the status says.
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
