// SPDX-License-Identifier: Apache-2.0

//! Takes a missing right for "nothing to do". When the right is given, nobody comes again.

use kubewright::k8s_openapi::api::core::v1::ConfigMap;
use kubewright::prelude::*;

use crate::{Children, ensure, key, operator, owned_config_map};

/// With the mistake.
pub fn broken() -> Operator {
    operator(Children::Watched, |client, app| async move {
        if client.get_opt::<ConfigMap>(&key(&app)).await?.is_some() {
            ensure(&client, &app).await?;
            return Ok(Action::done());
        }
        match client.create(&owned_config_map(&app)?).await {
            Err(error) if error.code() == Some(403) => Ok(Action::done()),
            Err(error) => Err(error.into()),
            Ok(_) => Ok(Action::done()),
        }
    })
}

/// A right that is missing may be there the next time.
pub fn fixed() -> Operator {
    operator(Children::Watched, |client, app| async move {
        ensure(&client, &app).await?;
        Ok(Action::done())
    })
}
