// SPDX-License-Identifier: Apache-2.0

//! Acts on changes that it sees, not on what there is: a change that came while it was away is never made. Sieve calls it unobserved state
//! (casskop 342, rabbitmq 758).

use kubewright::k8s_openapi::api::core::v1::ConfigMap;
use kubewright::prelude::*;
use std::sync::{Arc, Mutex};

use crate::{Children, ensure, key, operator, owned_config_map};

/// With the mistake.
pub fn broken() -> Operator {
    let seen: Arc<Mutex<BTreeMap<String, String>>> = Arc::default();
    operator(Children::Watched, move |client, app| {
        let seen = Arc::clone(&seen);
        async move {
            let seen_now = (app.name_any(), app.spec.text.clone());
            let before = seen
                .lock()
                .ok()
                .and_then(|mut seen| seen.insert(seen_now.0, seen_now.1));
            match client.get_opt::<ConfigMap>(&key(&app)).await? {
                None => drop(client.create(&owned_config_map(&app)?).await?),
                Some(_) if before.is_some_and(|before| before != app.spec.text) => ensure(&client, &app).await?,
                Some(_) => {}
            }
            Ok(Action::done())
        }
    })
}

/// Compares what is there with what should be.
pub fn fixed() -> Operator {
    operator(Children::Watched, |client, app| async move {
        ensure(&client, &app).await?;
        Ok(Action::done())
    })
}
