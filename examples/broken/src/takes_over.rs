// SPDX-License-Identifier: Apache-2.0

//! Updates whatever has the name, whoever it belongs to.

use kubewright::k8s_openapi::api::core::v1::ConfigMap;
use kubewright::prelude::*;

use crate::{Children, key, operator, owned_config_map};

/// With the mistake.
pub fn broken() -> Operator {
    operator(Children::Watched, |client, app| async move {
        let wanted = owned_config_map(&app)?;
        match client.get_opt::<ConfigMap>(&key(&app)).await? {
            None => drop(client.create(&wanted).await?),
            Some(found) if found.data != wanted.data => {
                let mut changed = found.into_owned();
                changed.data = wanted.data;
                client.update(&changed).await?;
            }
            Some(_) => {}
        }
        Ok(Action::done())
    })
}

/// Asks first whether it is the App's.
pub fn fixed() -> Operator {
    operator(Children::Watched, |client, app| async move {
        let wanted = owned_config_map(&app)?;
        match client.get_opt::<ConfigMap>(&key(&app)).await? {
            None => drop(client.create(&wanted).await?),
            Some(found) if !is_controlled_by(&*found, &*app) => {
                return Err(Failure::message("the ConfigMap belongs to somebody else"));
            }
            Some(found) if found.data != wanted.data => {
                let mut changed = found.into_owned();
                changed.data = wanted.data;
                client.update(&changed).await?;
            }
            Some(_) => {}
        }
        Ok(Action::done())
    })
}
