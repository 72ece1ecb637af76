// SPDX-License-Identifier: Apache-2.0

//! Deletes ConfigMaps whose App it does not know. A cache that is behind does not know Apps that are there: Sieve's stale state
//! (cassandra-operator 402, casskop 316, cloud-on-k8s 5249).

use kubewright::k8s_openapi::api::core::v1::ConfigMap;
use kubewright::prelude::*;

use crate::App;

/// What marks a ConfigMap that users made for an App of the same name.
pub const LABEL: &str = "broken.example.com/for-app";

fn sweeper(is_careful: bool) -> Operator {
    let controller = Controller::of::<App>()
        .watches::<ConfigMap>(|map| {
            let is_for_an_app = map.labels().contains_key(LABEL);
            let key = || ObjectKey::namespaced(&map.namespace().unwrap_or_default(), &map.name_any());
            is_for_an_app.then(|| Request::from(key())).into_iter().collect()
        })
        .reconcile_with(move |context| {
            let client = context.client();
            move |request: Request| {
                let client = client.clone();
                async move {
                    let key = ObjectKey::namespaced(request.namespace().unwrap_or_default(), request.name());
                    let is_known = client.get_opt::<App>(&key).await?.is_some();
                    // What the cache does not know, the server may.
                    let is_there = is_known || (is_careful && client.live().get_opt::<App>(&key).await?.is_some());
                    let map = client.get_opt::<ConfigMap>(&key).await?;
                    if !is_there && map.is_some_and(|map| map.labels().contains_key(LABEL)) {
                        ignore_not_found(client.delete::<ConfigMap>(&key).await)?;
                    }
                    Ok(Action::done())
                }
            }
        });
    Operator::new("sweeper")
        .resource::<App>()
        .controller(controller)
        .rule(Rule::new([""], ["configmaps"], ["delete"]))
        .rule(Rule::new(["broken.example.com"], ["apps"], ["get"]))
}

/// With the mistake.
pub fn broken() -> Operator {
    sweeper(false)
}

/// Asks the server before it deletes.
pub fn fixed() -> Operator {
    sweeper(true)
}
