// SPDX-License-Identifier: Apache-2.0

//! Takes the first of two objects for both, as percona's operator for MongoDB with its Secrets (K8SPSMDB-578 and 579), and nifikop with a
//! configuration and the restart that it needs (130): after a crash between the two, the second is never made.

use kubewright::k8s_openapi::api::core::v1::ConfigMap;
use kubewright::prelude::*;

use crate::{App, Children, ensure, ensure_map, key, operator, owned_config_map};

fn second(app: &App) -> Result<ConfigMap> {
    let mut map = owned_config_map(app)?;
    map.metadata.name = Some(format!("{}-users", app.name_any()));
    Ok(map)
}

fn second_key(app: &App) -> ObjectKey {
    ObjectKey::namespaced(
        &app.namespace().unwrap_or_default(),
        &format!("{}-users", app.name_any()),
    )
}

/// With the mistake.
pub fn broken() -> Operator {
    operator(Children::Watched, |client, app| async move {
        let is_new = client.get_opt::<ConfigMap>(&key(&app)).await?.is_none();
        ensure(&client, &app).await?;
        // They are made together.
        if is_new || client.get_opt::<ConfigMap>(&second_key(&app)).await?.is_some() {
            ensure_map(&client, &app, second(&app)?).await?;
        }
        Ok(Action::done())
    })
}

/// Asks for each.
pub fn fixed() -> Operator {
    operator(Children::Watched, |client, app| async move {
        ensure(&client, &app).await?;
        ensure_map(&client, &app, second(&app)?).await?;
        Ok(Action::done())
    })
}
