// SPDX-License-Identifier: Apache-2.0

//! Counts in its status what it made. What was made right before a crash is never counted.

use kubewright::k8s_openapi::api::core::v1::ConfigMap;
use kubewright::prelude::*;

use crate::{AppStatus, Children, ensure, key, operator, owned_config_map, set_status};

/// With the mistake.
pub fn broken() -> Operator {
    operator(Children::Watched, |client, app| async move {
        if client.get_opt::<ConfigMap>(&key(&app)).await?.is_none() {
            client.create(&owned_config_map(&app)?).await?;
            // One more than the last time, unless it is made again.
            let made = 1;
            set_status(
                &client,
                &app,
                AppStatus {
                    made,
                    ..AppStatus::default()
                },
            )
            .await?;
        }
        Ok(Action::done())
    })
}

/// Counts what is there.
pub fn fixed() -> Operator {
    operator(Children::Watched, |client, app| async move {
        ensure(&client, &app).await?;
        let there = client.get_opt::<ConfigMap>(&key(&app)).await?;
        let made = i32::from(there.is_some());
        set_status(
            &client,
            &app,
            AppStatus {
                made,
                ..AppStatus::default()
            },
        )
        .await?;
        Ok(Action::done())
    })
}
