// SPDX-License-Identifier: Apache-2.0

//! Makes its ConfigMap once, and never looks at it again, as zookeeper-operator with the annotations of a Service (474): whoever edits
//! the App waits for ever.

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

/// Compares what is there with what is wanted.
pub fn fixed() -> Operator {
    operator(Children::Watched, |client, app| async move {
        ensure(&client, &app).await?;
        Ok(Action::done())
    })
}
