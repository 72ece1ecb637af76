// SPDX-License-Identifier: Apache-2.0

//! Makes what only it can clean up, and adds its finalizer afterwards. If the App is deleted in between, nobody cleans up.

use kubewright::k8s_openapi::api::core::v1::ConfigMap;
use kubewright::prelude::*;
use std::time::Duration;

use crate::{App, Children, config_map, key, operator_of_all};

pub(crate) const FINALIZER: &str = "broken.example.com/config";
/// What tells the ConfigMaps of Apps from others.
const LABEL: &str = "broken.example.com/app";
/// The ConfigMap names no owner, so that it wakes nobody; it is looked at from time to time.
pub(crate) const LOOK: Duration = Duration::from_secs(30);

pub(crate) fn is_ours(map: &ConfigMap, app: &App) -> bool {
    map.labels().get(LABEL).is_some_and(|name| *name == app.name_any())
}

pub(crate) async fn make(client: &Client, app: &App) -> Result<()> {
    let mut wanted = config_map(app);
    wanted.labels_mut().insert(LABEL.to_owned(), app.name_any());
    match client.get_opt::<ConfigMap>(&key(app)).await? {
        None => drop(client.create(&wanted).await?),
        Some(found) if !is_ours(&found, app) => return Err(Failure::message("the ConfigMap belongs to somebody else")),
        Some(found) if found.data != wanted.data => {
            let mut changed = found.into_owned();
            changed.data = wanted.data;
            client.update(&changed).await?;
        }
        Some(_) => {}
    }
    Ok(())
}

pub(crate) async fn guard(client: &Client, app: &App) -> Result<()> {
    let mut changed = app.clone();
    if add_finalizer(&mut changed, FINALIZER) {
        client.update(&changed).await?;
    }
    Ok(())
}

pub(crate) async fn clean_up(client: &Client, app: &App) -> Result<Action> {
    if has_finalizer(app, FINALIZER) {
        let found = client.get_opt::<ConfigMap>(&key(app)).await?;
        if found.is_some_and(|found| is_ours(&found, app)) {
            ignore_not_found(client.delete::<ConfigMap>(&key(app)).await)?;
        }
        let mut changed = app.clone();
        remove_finalizer(&mut changed, FINALIZER);
        client.update(&changed).await?;
    }
    Ok(Action::done())
}

/// With the mistake.
pub fn broken() -> Operator {
    operator_of_all(Children::Watched, |client, app| async move {
        if app.metadata.deletion_timestamp.is_some() {
            return clean_up(&client, &app).await;
        }
        make(&client, &app).await?;
        guard(&client, &app).await?;
        Ok(Action::requeue_after(LOOK))
    })
}

/// Nothing is made before the finalizer is there.
pub fn fixed() -> Operator {
    operator_of_all(Children::Watched, |client, app| async move {
        if app.metadata.deletion_timestamp.is_some() {
            return clean_up(&client, &app).await;
        }
        guard(&client, &app).await?;
        make(&client, &app).await?;
        Ok(Action::requeue_after(LOOK))
    })
}
