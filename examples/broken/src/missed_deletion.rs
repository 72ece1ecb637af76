// SPDX-License-Identifier: Apache-2.0

//! Makes a bucket in a cloud for each App, and deletes it when it hears that the App is gone. An App that is deleted while the operator
//! is down leaves its bucket.

use std::sync::Arc;

use kubewright::prelude::*;

use crate::late_finalizer::{FINALIZER, guard};
use crate::outside::Cloud;
use crate::{App, Children, operator_of_all, operator_of_keys};

/// With the mistake.
pub fn broken(cloud: Arc<Cloud>) -> Operator {
    operator_of_keys(Children::Watched, move |client, request| {
        let cloud = Arc::clone(&cloud);
        async move {
            match client.get_opt::<App>(&request).await? {
                Some(_) => cloud.ensure(request.name()),
                None => cloud.delete(request.name()),
            }
            Ok(Action::done())
        }
    })
}

/// A finalizer keeps the App until its bucket is gone.
pub fn fixed(cloud: Arc<Cloud>) -> Operator {
    operator_of_all(Children::Watched, move |client, app| {
        let cloud = Arc::clone(&cloud);
        async move {
            if app.metadata.deletion_timestamp.is_none() {
                guard(&client, &app).await?;
                cloud.ensure(&app.name_any());
            } else if has_finalizer(&*app, FINALIZER) {
                cloud.delete(&app.name_any());
                let mut changed = app.into_owned();
                remove_finalizer(&mut changed, FINALIZER);
                client.update(&changed).await?;
            }
            Ok(Action::done())
        }
    })
}
