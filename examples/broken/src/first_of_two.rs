// SPDX-License-Identifier: Apache-2.0

//! Takes the first of two objects for both, as percona's operator for MongoDB with its Secrets (K8SPSMDB-578 and 579): after a crash
//! between the two, the second is never made.

use kubewright::k8s_openapi::api::core::v1::ConfigMap;
use kubewright::prelude::*;

use crate::{App, Children, key, operator, owned_config_map};

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

async fn ensure(client: &Client, app: &App, key: &ObjectKey, wanted: ConfigMap) -> Result<()> {
    match client.get_opt::<ConfigMap>(key).await? {
        None => drop(client.create(&wanted).await?),
        Some(found) if !is_controlled_by(&*found, app) => {
            return Err(Failure::message("the ConfigMap belongs to somebody else"));
        }
        Some(found) if found.data != wanted.data => {
            let mut changed = found.into_owned();
            changed.data = wanted.data;
            client.update(&changed).await?;
        }
        Some(_) => {}
    }
    Ok(())
}

/// With the mistake.
pub fn broken() -> Operator {
    operator(Children::Watched, |client, app| async move {
        let is_new = client.get_opt::<ConfigMap>(&key(&app)).await?.is_none();
        ensure(&client, &app, &key(&app), owned_config_map(&app)?).await?;
        // They are made together.
        if is_new || client.get_opt::<ConfigMap>(&second_key(&app)).await?.is_some() {
            ensure(&client, &app, &second_key(&app), second(&app)?).await?;
        }
        Ok(Action::done())
    })
}

/// Asks for each.
pub fn fixed() -> Operator {
    operator(Children::Watched, |client, app| async move {
        ensure(&client, &app, &key(&app), owned_config_map(&app)?).await?;
        ensure(&client, &app, &second_key(&app), second(&app)?).await?;
        Ok(Action::done())
    })
}
