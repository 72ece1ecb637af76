// SPDX-License-Identifier: Apache-2.0

//! Removes its finalizer first and cleans up then. After a crash in between, nobody knows what there was.

use kubewright::k8s_openapi::api::core::v1::ConfigMap;
use kubewright::prelude::*;

use crate::late_finalizer::{FINALIZER, LOOK, clean_up, guard, is_ours, make};
use crate::{Children, key, operator_of_all};

/// With the mistake.
pub fn broken() -> Operator {
    operator_of_all(Children::Watched, |client, app| async move {
        if app.metadata.deletion_timestamp.is_some() {
            if has_finalizer(&*app, FINALIZER) {
                let found = client.get_opt::<ConfigMap>(&key(&app)).await?;
                let mut changed = (*app).clone();
                remove_finalizer(&mut changed, FINALIZER);
                client.update(&changed).await?;
                if found.is_some_and(|found| is_ours(&found, &app)) {
                    ignore_not_found(client.delete::<ConfigMap>(&key(&app)).await)?;
                }
            }
            return Ok(Action::done());
        }
        guard(&client, &app).await?;
        make(&client, &app).await?;
        Ok(Action::requeue_after(LOOK))
    })
}

/// The finalizer goes when there is nothing left.
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
