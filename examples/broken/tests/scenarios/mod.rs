//! What users do with an App. Tests explore these scenarios, and `examples/found.rs` measures them.

use broken_operators::{App, AppSpec, own_watch, sweeps};
use kubewright::k8s_openapi::api::core::v1::ConfigMap;
use kubewright::prelude::*;
use kubewright::testing::explore::Exploration;

/// An App is created, changed and deleted.
pub fn app(exploration: Exploration) -> Exploration {
    exploration
        .step("create", |env| async move {
            let spec = AppSpec {
                text: "hello".to_owned(),
            };
            env.create(&App::new("app", spec)).await;
        })
        .step("change", |env| async move {
            env.edit::<App>("app", |app| app.spec.text = "world".to_owned()).await;
        })
        .step("delete", |env| async move { env.delete::<App>("app").await })
}

/// Users make the ConfigMap together with the App.
pub fn app_with_config_map(exploration: Exploration) -> Exploration {
    exploration
        .step("create", |env| async move {
            let spec = AppSpec {
                text: "hello".to_owned(),
            };
            env.create(&App::new("app", spec)).await;
            env.settle().await;
            let mut map = ConfigMap::default();
            map.metadata.name = Some("app".to_owned());
            map.labels_mut().insert(sweeps::LABEL.to_owned(), "app".to_owned());
            env.create(&map).await;
        })
        .step("delete", |env| async move { env.delete::<App>("app").await })
}

/// An App leaves out what it may leave out, and is deleted.
pub fn app_without_text(exploration: Exploration) -> Exploration {
    exploration
        .step("create", |env| async move {
            env.create(&App::new("app", AppSpec::default())).await;
        })
        .step("delete", |env| async move { env.delete::<App>("app").await })
}

/// What all Apps share is made, an App as well, and then what they share is changed.
pub fn app_with_defaults(exploration: Exploration) -> Exploration {
    let defaults = |text: &str| {
        let mut map = ConfigMap::default();
        map.metadata.name = Some(own_watch::DEFAULTS.to_owned());
        map.data = Some(BTreeMap::from([("text".to_owned(), text.to_owned())]));
        map
    };
    exploration
        .step("create", move |env| async move {
            env.create(&defaults("hello")).await;
            env.create(&App::new("app", AppSpec::default())).await;
        })
        .step("change defaults", move |env| async move {
            let data = defaults("world").data;
            env.edit::<ConfigMap>(own_watch::DEFAULTS, move |map| map.data.clone_from(&data))
                .await;
        })
        .step("delete", |env| async move { env.delete::<App>("app").await })
}
