// SPDX-License-Identifier: Apache-2.0

//! Notes a change as done before it is made, as rabbitmq's operator with the size of its volumes (cluster-operator 782): after a crash
//! in between, nobody makes it any more.

use kubewright::k8s_openapi::api::core::v1::ConfigMap;
use kubewright::prelude::*;

use crate::{App, AppStatus, Children, ensure, key, operator, owned_config_map, set_status};

fn noted(app: &App) -> AppStatus {
    AppStatus {
        text: Some(app.spec.text.clone()),
        ..AppStatus::default()
    }
}

/// With the mistake.
pub fn broken() -> Operator {
    operator(Children::Watched, |client, app| async move {
        match client.get_opt::<ConfigMap>(&key(&app)).await? {
            None => drop(client.create(&owned_config_map(&app)?).await?),
            Some(found) if !is_controlled_by(&*found, &*app) => {
                return Err(Failure::message("the ConfigMap belongs to somebody else"));
            }
            Some(_) => {
                let before = app.status.as_ref().and_then(|status| status.text.as_ref());
                if before.is_some_and(|before| *before != app.spec.text) {
                    set_status(&client, &app, noted(&app)).await?;
                    ensure(&client, &app).await?;
                    return Ok(Action::done());
                }
            }
        }
        set_status(&client, &app, noted(&app)).await?;
        Ok(Action::done())
    })
}

/// Makes it, and notes it then.
pub fn fixed() -> Operator {
    operator(Children::Watched, |client, app| async move {
        ensure(&client, &app).await?;
        set_status(&client, &app, noted(&app)).await?;
        Ok(Action::done())
    })
}
