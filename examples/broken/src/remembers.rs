// SPDX-License-Identifier: Apache-2.0

//! Remembers by name what it made. An App of the same name that was made again gets nothing. Who goes by names takes
//! one object for another, as rabbitmq's operator one that was deleted before (cluster-operator 648).

use kubewright::prelude::*;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use crate::{Children, ensure, operator};

/// With the mistake.
pub fn broken() -> Operator {
    let made: Arc<Mutex<BTreeSet<(String, String)>>> = Arc::default();
    operator(Children::Watched, move |client, app| {
        let made = Arc::clone(&made);
        async move {
            let wanted = (app.name_any(), app.spec.text.clone());
            let is_made = made.lock().is_ok_and(|made| made.contains(&wanted));
            if !is_made {
                ensure(&client, &app).await?;
                if let Ok(mut made) = made.lock() {
                    made.insert(wanted);
                }
            }
            Ok(Action::done())
        }
    })
}

/// Looks.
pub fn fixed() -> Operator {
    operator(Children::Watched, |client, app| async move {
        ensure(&client, &app).await?;
        Ok(Action::done())
    })
}
