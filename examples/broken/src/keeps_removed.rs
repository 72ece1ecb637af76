// SPDX-License-Identifier: Apache-2.0

//! Merges what the spec asks for into what is there, as cass-operator did with labels of a Service (330) and MongoDB's operator with
//! tolerations (1251): what an edit takes out stays.

use kubewright::k8s_openapi::api::core::v1::ConfigMap;
use kubewright::prelude::*;

use crate::{App, Children, ensure_map, key, operator, owned_config_map};

/// With the mistake.
pub fn broken() -> Operator {
    operator(Children::Watched, |client, app| async move {
        let mut wanted = wanted(&app)?;
        if let Some(found) = client.get_opt::<ConfigMap>(&key(&app)).await? {
            let mut merged = found.into_owned().data.unwrap_or_default();
            merged.extend(wanted.data.unwrap_or_default());
            wanted.data = Some(merged);
        }
        ensure_map(&client, &app, wanted).await?;
        Ok(Action::done())
    })
}

/// Has what the spec asks for, and nothing else.
pub fn fixed() -> Operator {
    operator(Children::Watched, |client, app| async move {
        ensure_map(&client, &app, wanted(&app)?).await?;
        Ok(Action::done())
    })
}

/// A text that is left out has no key.
fn wanted(app: &App) -> Result<ConfigMap> {
    let mut map = owned_config_map(app)?;
    if app.spec.text.is_empty() {
        map.data = None;
    }
    Ok(map)
}
