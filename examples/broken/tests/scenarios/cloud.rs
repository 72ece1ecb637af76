//! What users do with an App that has something outside the cluster, and a fake of that.

use std::sync::Arc;

use broken_operators::outside::Cloud;
use broken_operators::{App, AppSpec};
use kubewright::prelude::*;
use kubewright::serde_json::Value;
use kubewright::testing::explore::{Exploration, External, explore_with};

/// The fake, as an exploration asks for it.
#[derive(Default)]
pub struct FakeCloud(Arc<Cloud>);

impl External for FakeCloud {
    fn snapshot(&self) -> Value {
        self.0.snapshot()
    }

    fn restore(&self, snapshot: &Value) {
        self.0.restore(snapshot);
    }
}

/// An App is created and deleted.
pub fn app(operator: fn(Arc<Cloud>) -> Operator) -> Exploration {
    explore_with(FakeCloud::default, move |cloud| operator(Arc::clone(&cloud.0)))
        .step("create", |env| async move {
            env.create(&App::new("app", AppSpec::default())).await;
        })
        .step("delete", |env| async move { env.delete::<App>("app").await })
}
