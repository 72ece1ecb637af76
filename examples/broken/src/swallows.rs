// SPDX-License-Identifier: Apache-2.0

//! Takes an error for an answer: what failed once is not tried again. Many of Acto's operators stop at the first error that way.

use kubewright::k8s_openapi::api::core::v1::ConfigMap;
use kubewright::prelude::*;

use crate::{Children, ensure, key, operator, owned_config_map};

/// With the mistake.
pub fn broken() -> Operator {
    operator(Children::Watched, |client, app| async move {
        if client.get_opt::<ConfigMap>(&key(&app)).await?.is_none() {
            // It will be there, or the next event will bring us here again.
            let _ = client.create(&owned_config_map(&app)?).await;
        } else {
            ensure(&client, &app).await?;
        }
        Ok(Action::done())
    })
}

/// Fails, and is tried again.
pub fn fixed() -> Operator {
    operator(Children::Watched, |client, app| async move {
        ensure(&client, &app).await?;
        Ok(Action::done())
    })
}
