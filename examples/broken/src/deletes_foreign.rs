// SPDX-License-Identifier: Apache-2.0

//! Deletes what has the name that it wants, whoever it belongs to, to make it anew.

use kubewright::k8s_openapi::api::core::v1::ConfigMap;
use kubewright::prelude::*;

use crate::{Children, ensure, key, operator, owned_config_map};

/// With the mistake.
pub fn broken() -> Operator {
    operator(Children::Watched, |client, app| async move {
        let found = client.get_opt::<ConfigMap>(&key(&app)).await?;
        if found.is_some_and(|found| !is_controlled_by(&*found, &*app)) {
            ignore_not_found(client.delete::<ConfigMap>(&key(&app)).await)?;
            client.create(&owned_config_map(&app)?).await?;
        }
        ensure(&client, &app).await?;
        Ok(Action::done())
    })
}

/// Leaves it alone and says so.
pub fn fixed() -> Operator {
    operator(Children::Watched, |client, app| async move {
        ensure(&client, &app).await?;
        Ok(Action::done())
    })
}
