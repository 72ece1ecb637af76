// SPDX-License-Identifier: Apache-2.0

//! Makes a Service with a generated name and writes the name down afterwards. Whoever crashes in between makes another one.

use kubewright::k8s_openapi::api::core::v1::{Service, ServicePort, ServiceSpec};
use kubewright::prelude::*;

use crate::{App, AppStatus, Children, key, operator, set_status};

fn service(app: &App) -> Result<Service> {
    let mut service = Service::default();
    service.metadata.namespace = app.namespace();
    let port = ServicePort {
        port: 80,
        ..ServicePort::default()
    };
    service.spec = Some(ServiceSpec {
        ports: Some(vec![port]),
        ..ServiceSpec::default()
    });
    set_controller_reference(app, &mut service)?;
    Ok(service)
}

/// With the mistake.
pub fn broken() -> Operator {
    operator(Children::Watched, |client, app| async move {
        if let Some(name) = app.status.as_ref().and_then(|status| status.service.as_deref()) {
            let place = ObjectKey::namespaced(&app.namespace().unwrap_or_default(), name);
            if client.get_opt::<Service>(&place).await?.is_some() {
                return Ok(Action::done());
            }
        }
        let mut wanted = service(&app)?;
        wanted.metadata.generate_name = Some("web-".to_owned());
        let made = client.create(&wanted).await?;
        let service = made.metadata.name;
        set_status(
            &client,
            &app,
            AppStatus {
                service,
                ..AppStatus::default()
            },
        )
        .await?;
        Ok(Action::done())
    })
}

/// The name follows from the App's: whoever comes again finds it.
pub fn fixed() -> Operator {
    operator(Children::Watched, |client, app| async move {
        if client.get_opt::<Service>(&key(&app)).await?.is_none() {
            let mut wanted = service(&app)?;
            wanted.metadata.name = Some(app.name_any());
            client.create(&wanted).await?;
        }
        let service = Some(app.name_any());
        set_status(
            &client,
            &app,
            AppStatus {
                service,
                ..AppStatus::default()
            },
        )
        .await?;
        Ok(Action::done())
    })
}
