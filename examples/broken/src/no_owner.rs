// SPDX-License-Identifier: Apache-2.0

//! Forgets the owner reference: what it made stays for ever.

use kubewright::k8s_openapi::api::core::v1::ConfigMap;
use kubewright::prelude::*;

use crate::{Children, config_map, ensure, key, operator};

/// With the mistake.
pub fn broken() -> Operator {
    operator(Children::Watched, |client, app| async move {
        if client.get_opt::<ConfigMap>(&key(&app)).await?.is_none() {
            client.create(&config_map(&app)).await?;
        }
        Ok(Action::done())
    })
}

/// With an owner.
pub fn fixed() -> Operator {
    operator(Children::Watched, |client, app| async move {
        ensure(&client, &app).await?;
        Ok(Action::done())
    })
}
