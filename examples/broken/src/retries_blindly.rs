// SPDX-License-Identifier: Apache-2.0

//! Makes it again when there is no answer, under another name. What was made by the first request stays.

use kubewright::k8s_openapi::api::core::v1::ConfigMap;
use kubewright::prelude::*;

use crate::{App, Children, ensure, operator, owned_config_map};

/// How often it is tried.
const TRIES: u32 = 3;

async fn make(client: &Client, app: &App) -> Result<()> {
    let mut last = None;
    for attempt in 0..TRIES {
        let mut wanted = owned_config_map(app)?;
        wanted.metadata.name = Some(format!("{}-{attempt}", app.name_any()));
        match client.create(&wanted).await {
            Ok(_) => return Ok(()),
            Err(error) => last = Some(error),
        }
    }
    Err(last.map_or_else(|| Failure::message("never tried"), Into::into))
}

/// With the mistake.
pub fn broken() -> Operator {
    operator(Children::Watched, |client, app| async move {
        let own = client.list::<ConfigMap>(&Query::all()).await?;
        let own: Vec<_> = own.into_iter().filter(|map| is_controlled_by(&**map, &*app)).collect();
        if own.is_empty() {
            make(&client, &app).await?;
        }
        let wanted = owned_config_map(&app)?.data;
        for map in own.into_iter().filter(|map| map.data != wanted) {
            let mut changed = map.into_owned();
            changed.data.clone_from(&wanted);
            client.update(&changed).await?;
        }
        Ok(Action::done())
    })
}

/// One name, however often it is tried.
pub fn fixed() -> Operator {
    operator(Children::Watched, |client, app| async move {
        ensure(&client, &app).await?;
        Ok(Action::done())
    })
}
