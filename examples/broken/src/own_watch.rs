// SPDX-License-Identifier: Apache-2.0

//! Keeps a watch of its own, of the defaults that all Apps share, and begins no other one when it ends: from then on it is blind.

use std::pin::pin;

use futures_util::TryStreamExt as _;
use kubewright::controller::Trigger;
use kubewright::k8s_openapi::api::core::v1::ConfigMap;
use kubewright::kube::Api;
use kubewright::kube::api::WatchParams;
use kubewright::prelude::*;

use crate::{App, ensure_map, owned_config_map};

/// The `ConfigMap` that says what the Apps of its namespace say.
pub const DEFAULTS: &str = "defaults";

/// With the mistake.
pub fn broken() -> Operator {
    operator(Controller::of::<App>().source(watch))
}

/// Has the runtime watch, which begins again wherever a watch ends.
pub fn fixed() -> Operator {
    operator(
        Controller::of::<App>().watches_with(|client: Client, map: View<ConfigMap>| async move {
            let is_it = map.name_any() == DEFAULTS;
            if is_it { all(&client).await } else { Vec::new() }
        }),
    )
}

async fn watch(trigger: Trigger, client: Client) {
    let maps: Api<ConfigMap> = Api::all(client.kube().clone());
    let of_defaults = WatchParams::default().fields(&format!("metadata.name={DEFAULTS}"));
    let Ok(events) = maps.watch(&of_defaults, "0").await else {
        return;
    };
    let mut events = pin!(events);
    while let Ok(Some(_)) = events.try_next().await {
        for app in all(&client).await {
            trigger.wake(app);
        }
    }
}

/// The requests to reconcile every App.
async fn all(client: &Client) -> Vec<Request> {
    let apps = client.list::<App>(&Query::all()).await.unwrap_or_default();
    apps.iter().map(|app| crate::key(app).into()).collect()
}

fn operator(controller: Controller) -> Operator {
    let controller = controller.owns::<ConfigMap>().reconcile_with(|context| {
        let client = context.client();
        move |request: Request| {
            let client = client.clone();
            async move {
                let Some(app) = client.get_opt::<App>(&request).await? else {
                    return Ok(Action::done());
                };
                if app.metadata.deletion_timestamp.is_none() {
                    follow_defaults(&client, &app).await?;
                }
                Ok::<_, Failure>(Action::done())
            }
        }
    });
    Operator::new("broken")
        .resource::<App>()
        .controller(controller)
        .rule(Rule::new([""], ["configmaps"], ["get", "create", "update"]))
        .rule(Rule::new(["broken.example.com"], ["apps/finalizers"], ["update"]))
}

async fn follow_defaults(client: &Client, app: &App) -> Result<()> {
    let key = ObjectKey::namespaced(&app.namespace().unwrap_or_default(), DEFAULTS);
    let mut wanted = owned_config_map(app)?;
    if let Some(defaults) = client.live().get_opt::<ConfigMap>(&key).await? {
        wanted.data = defaults.into_owned().data;
    }
    ensure_map(client, app, wanted).await
}
