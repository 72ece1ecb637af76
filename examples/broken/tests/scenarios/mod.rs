//! What users do with an App. Tests explore these scenarios, and `examples/found.rs` measures them.

use broken_operators::{App, AppSpec, sweeps};
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
