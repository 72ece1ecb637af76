// SPDX-License-Identifier: Apache-2.0

//! Makes what is not there, and never looks at what is: what others change stays changed, and so does what users want otherwise.

use kubewright::k8s_openapi::api::core::v1::ConfigMap;
use kubewright::prelude::*;

use crate::{Children, ensure, key, operator, owned_config_map};

/// With the mistake.
pub fn broken() -> Operator {
    operator(Children::Watched, |client, app| async move {
        if client.get_opt::<ConfigMap>(&key(&app)).await?.is_none() {
            client.create(&owned_config_map(&app)?).await?;
        }
        Ok(Action::done())
    })
}

/// Compares.
pub fn fixed() -> Operator {
    operator(Children::Watched, |client, app| async move {
        ensure(&client, &app).await?;
        Ok(Action::done())
    })
}
