// SPDX-License-Identifier: Apache-2.0

//! The webhooks of `Bar`, called by a Kubernetes API in this process.

use bar_controller::api::v1alpha1::Bar;
use kubewright::testing::TestEnv;

#[kubewright::test]
async fn a_bar_that_does_not_say_has_one_replica() {
    let env = TestEnv::start(bar_controller::operator()).await;
    env.apply(
        "
apiVersion: samplecontroller.ginoh.github.io/v1alpha1
kind: Bar
metadata: { name: modest }
spec: { deploymentName: web }
",
    )
    .await;
    let stored: Bar = env.get("modest").await;
    assert_eq!(stored.spec.replicas, Some(1));
}

#[kubewright::test]
async fn a_name_that_no_deployment_can_have_is_refused() {
    let env = TestEnv::start(bar_controller::operator()).await;
    for name in ["No Such Name", "-web", "web..de", "web."] {
        let bar = format!(
            "
apiVersion: samplecontroller.ginoh.github.io/v1alpha1
kind: Bar
metadata: {{ name: bold }}
spec: {{ deploymentName: {name:?} }}
"
        );
        let words = env.try_apply(bar).await.expect_err("it must be refused").to_string();
        assert!(words.contains("spec.deploymentName: Invalid value"), "{words}");
    }
}

#[kubewright::test]
async fn the_schema_bounds_the_replicas() {
    let env = TestEnv::start(bar_controller::operator()).await;
    let sample = std::fs::read_to_string("config/samples/samplecontroller_v1alpha1_bar.yaml").unwrap();
    env.apply(sample.clone()).await;
    let words = env
        .try_apply(sample.replace("replicas: 1", "replicas: 11"))
        .await
        .expect_err("too many")
        .to_string();
    assert!(words.contains("should be less than or equal to 10"), "{words}");
}
