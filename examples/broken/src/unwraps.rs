// SPDX-License-Identifier: Apache-2.0

//! Believes that what it wrote before is there, and panics where it is not. Sieve found such a panic in percona's
//! operator for MongoDB (K8SPSMDB-434).

use kubewright::prelude::*;

use crate::{AppStatus, Children, ensure, operator, set_status};

fn noted() -> AppStatus {
    AppStatus {
        text: Some("made".to_owned()),
        ..AppStatus::default()
    }
}

/// With the mistake.
pub fn broken() -> Operator {
    operator(Children::Watched, |client, app| async move {
        let was_made = client
            .get_opt::<kubewright::k8s_openapi::api::core::v1::ConfigMap>(&crate::key(&app))
            .await?
            .is_some();
        ensure(&client, &app).await?;
        if was_made {
            let status = app.status.as_ref().expect("the status is written with the ConfigMap");
            assert!(status.text.is_some(), "the status says what was made");
        }
        set_status(&client, &app, noted()).await?;
        Ok(Action::done())
    })
}

/// Writes what is not there.
pub fn fixed() -> Operator {
    operator(Children::Watched, |client, app| async move {
        ensure(&client, &app).await?;
        set_status(&client, &app, noted()).await?;
        Ok(Action::done())
    })
}
