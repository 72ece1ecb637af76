//! Foos on a Kubernetes API in this process. The environment installs the definition from its file and runs no manager: the test
//! starts the controller itself, as the ServiceAccount and with the rights of `artifacts/rbac.yaml`.

// The kind is called so, and so are its objects.
#![allow(clippy::disallowed_names)]

mod logs;

use std::time::Duration;

use k8s_openapi::api::apps::v1::{Deployment, DeploymentStatus};
use k8s_openapi::api::core::v1::Pod;
use kubewright::stop::Stopper;
use kubewright::testing::{Builder, Controllers, TestEnv, matchers};
use sample_controller::Sources;
use sample_controller::api::{Foo, FooSpec};
use sample_controller::controller::{RunError, StatusBy};
use tokio::task::JoinHandle;

use logs::Logs;

const WITH_STATUS: &str = "artifacts/examples/crd-status-subresource.yaml";
const WITHOUT_STATUS: &str = "artifacts/examples/crd.yaml";

const THEIRS: &str = "
apiVersion: apps/v1
kind: Deployment
metadata: { name: theirs }
spec:
  replicas: 5
  selector: { matchLabels: { app: theirs } }
  template:
    metadata: { labels: { app: theirs } }
    spec: { containers: [{ name: web, image: nginx }] }
";

/// The controller in a task of its own.
struct Running {
    stopper: Stopper,
    task: JoinHandle<Result<(), RunError>>,
}

impl Running {
    async fn start(env: &TestEnv, status_by: StatusBy) -> Self {
        env.apply_file("artifacts/rbac.yaml").await;
        let groups = [
            "system:serviceaccounts",
            "system:serviceaccounts:default",
            "system:authenticated",
        ];
        let account = env.as_user("system:serviceaccount:default:sample-controller", groups);
        let (stopper, stop) = Stopper::new();
        Running {
            stopper,
            task: tokio::spawn(sample_controller::run(
                account.kube().clone(),
                status_by,
                Sources::system(),
                stop,
            )),
        }
    }

    async fn stop(self) {
        self.stopper.stop();
        self.task
            .await
            .expect("it does not panic")
            .expect("it stops in good order");
    }
}

fn builder(definition: &str) -> Builder {
    TestEnv::builder().definitions(definition)
}

async fn create(env: &TestEnv, deployment_name: &str, replicas: Option<i32>) -> Foo {
    let spec = FooSpec {
        deployment_name: deployment_name.to_owned(),
        replicas,
    };
    env.create(&Foo::new("example", spec)).await
}

fn replicas(deployment: &Deployment) -> Option<i32> {
    deployment.spec.as_ref().and_then(|spec| spec.replicas)
}

fn version(deployment: &Deployment) -> Option<String> {
    deployment.metadata.resource_version.clone()
}

#[kubewright::test]
async fn a_foo_gets_its_deployment() {
    let env = builder(WITH_STATUS).controllers(Controllers::none()).start().await;
    let running = Running::start(&env, StatusBy::Subresource).await;
    env.apply_file("artifacts/examples/example-foo.yaml").await;
    let foo = env.get::<Foo>("example-foo").await;
    let owned = matchers::controlled_by(&foo);
    let deployment = env.eventually_matches::<Deployment>("example-foo", owned).await;

    assert_eq!(replicas(&deployment), Some(1));
    let template = deployment.spec.unwrap().template;
    let labels = template.metadata.unwrap().labels.unwrap();
    assert_eq!(
        (labels["app"].as_str(), labels["controller"].as_str()),
        ("nginx", "example-foo")
    );
    let container = &template.spec.unwrap().containers[0];
    assert_eq!(
        (container.name.as_str(), container.image.as_deref()),
        ("nginx", Some("nginx:latest"))
    );
    let managers = deployment.metadata.managed_fields.unwrap();
    assert_eq!(managers[0].manager.as_deref(), Some("sample-controller"));
    let event = env.eventually_event::<Foo>("example-foo", "Synced").await.remove(0);
    assert_eq!(event.note.as_deref(), Some("Foo synced successfully"));
    running.stop().await;
}

#[kubewright::test]
async fn a_foo_says_how_many_of_its_pods_are_available() {
    let env = builder(WITH_STATUS).start().await;
    let running = Running::start(&env, StatusBy::Subresource).await;
    create(&env, "web", Some(2)).await;
    env.eventually_matches::<Foo>("example", matchers::field("status.availableReplicas", 2))
        .await;
    assert_eq!(env.list::<Pod>().await.len(), 2);
    running.stop().await;
}

#[kubewright::test]
async fn what_a_foo_made_goes_with_it() {
    let env = builder(WITH_STATUS).start().await;
    let running = Running::start(&env, StatusBy::Subresource).await;
    create(&env, "web", Some(1)).await;
    env.eventually_matches::<Foo>("example", matchers::field("status.availableReplicas", 1))
        .await;
    env.delete::<Foo>("example").await;
    env.eventually_gone::<Deployment>("web").await;
    env.eventually_list::<Pod>(<[Pod]>::is_empty).await;
    running.stop().await;
}

#[kubewright::test(virtual_time)]
async fn what_is_as_it_should_be_is_left_alone_also_by_a_resync() {
    let logs = Logs::capture();
    let env = builder(WITH_STATUS)
        .controllers(Controllers::none())
        .embedded()
        .start()
        .await;
    let running = Running::start(&env, StatusBy::Subresource).await;
    create(&env, "web", Some(2)).await;
    env.settle().await;
    let (foo, deployment) = (env.get::<Foo>("example").await, env.get::<Deployment>("web").await);
    let synced = logs.count("Successfully synced");

    env.advance(Duration::from_secs(10 * 60 + 1)).await;
    let later = env.get::<Foo>("example").await;
    assert_eq!(foo.metadata.resource_version, later.metadata.resource_version);
    assert_eq!(version(&deployment), version(&env.get("web").await));
    // Every thirty seconds each Foo is synced again; a Deployment that did not change wakes nobody.
    assert_eq!(logs.count("Successfully synced") - synced, 20);
    running.stop().await;
}

#[kubewright::test]
async fn a_deployment_that_differs_is_updated_and_one_that_is_deleted_comes_back() {
    let env = builder(WITH_STATUS).controllers(Controllers::none()).start().await;
    let running = Running::start(&env, StatusBy::Subresource).await;
    create(&env, "web", Some(1)).await;
    env.eventually::<Deployment>("web", |_| true).await;
    env.edit::<Foo>("example", |foo| foo.spec.replicas = Some(4)).await;
    env.eventually_matches::<Deployment>("web", matchers::field("spec.replicas", 4))
        .await;

    env.edit::<Deployment>("web", |web| web.spec.get_or_insert_default().replicas = Some(9))
        .await;
    env.eventually_matches::<Deployment>("web", matchers::field("spec.replicas", 4))
        .await;

    let first = env.get::<Deployment>("web").await;
    env.delete::<Deployment>("web").await;
    env.eventually::<Deployment>("web", |second| second.metadata.uid != first.metadata.uid)
        .await;
    running.stop().await;
}

#[kubewright::test]
async fn who_does_not_say_how_many_leaves_it_to_the_deployment() {
    let env = builder(WITH_STATUS).controllers(Controllers::none()).start().await;
    let running = Running::start(&env, StatusBy::Subresource).await;
    create(&env, "web", None).await;
    env.eventually_matches::<Deployment>("web", matchers::field("spec.replicas", 1))
        .await;
    env.edit::<Deployment>("web", |web| web.spec.get_or_insert_default().replicas = Some(3))
        .await;
    // Somebody scales the Deployment, and its status is copied into the Foo.
    let mut deployment = env.get::<Deployment>("web").await;
    deployment.status = Some(DeploymentStatus {
        replicas: Some(3),
        available_replicas: Some(3),
        ready_replicas: Some(3),
        ..DeploymentStatus::default()
    });
    env.update_status(&deployment).await;
    env.eventually_matches::<Foo>("example", matchers::field("status.availableReplicas", 3))
        .await;
    assert_eq!(replicas(&env.get("web").await), Some(3));
    running.stop().await;
}

#[kubewright::test]
async fn a_deployment_of_somebody_else_is_left_alone_and_said_so() {
    let env = builder(WITH_STATUS).controllers(Controllers::none()).start().await;
    let running = Running::start(&env, StatusBy::Subresource).await;
    env.apply(THEIRS).await;
    create(&env, "theirs", Some(1)).await;
    let event = env
        .eventually_event::<Foo>("example", "ErrResourceExists")
        .await
        .remove(0);
    assert_eq!(event.type_.as_deref(), Some("Warning"));
    assert_eq!(
        event.note.as_deref(),
        Some("Resource \"theirs\" already exists and is not managed by Foo")
    );
    assert_eq!(replicas(&env.get("theirs").await), Some(5));
    running.stop().await;
}

#[kubewright::test(virtual_time)]
async fn what_fails_is_tried_less_and_less_often_until_the_cause_is_gone() {
    let logs = Logs::capture();
    let env = builder(WITH_STATUS)
        .controllers(Controllers::none())
        .embedded()
        .start()
        .await;
    let running = Running::start(&env, StatusBy::Subresource).await;
    env.apply(THEIRS).await;
    create(&env, "theirs", Some(1)).await;
    env.advance(Duration::from_secs(25)).await;
    // 5 ms, 10 ms, 20 ms, …: the thirteenth try is after 20 seconds, the fourteenth would be after 41.
    let failed = "Error syncing; requeuing for later retry";
    assert_eq!(logs.count(failed), 13);

    env.delete::<Deployment>("theirs").await;
    env.advance(Duration::from_mins(1)).await;
    assert_eq!(replicas(&env.get("theirs").await), Some(1));
    assert!(logs.count("Successfully synced") > 0);
    running.stop().await;
}

#[kubewright::test(virtual_time)]
async fn a_foo_that_is_gone_before_its_turn_is_no_error() {
    let logs = Logs::capture();
    let env = builder(WITH_STATUS)
        .controllers(Controllers::none())
        .embedded()
        .start()
        .await;
    let running = Running::start(&env, StatusBy::Subresource).await;
    env.apply(THEIRS).await;
    create(&env, "theirs", Some(1)).await;
    env.advance(Duration::from_secs(1)).await;
    // Its next try is under way when it is deleted.
    env.delete::<Foo>("example").await;
    let failures = logs.count("Error syncing; requeuing for later retry");
    env.advance(Duration::from_mins(1)).await;
    assert_eq!(logs.count("Foo referenced by item in work queue no longer exists"), 1);
    assert_eq!(logs.count("Error syncing; requeuing for later retry"), failures);
    running.stop().await;
}

#[kubewright::test]
async fn a_foo_without_a_deployment_name_waits_for_one() {
    let logs = Logs::capture();
    let env = builder(WITH_STATUS).controllers(Controllers::none()).start().await;
    let running = Running::start(&env, StatusBy::Subresource).await;
    create(&env, "", Some(1)).await;
    logs.says("Deployment name missing from object reference").await;
    assert!(env.list::<Deployment>().await.is_empty());
    env.edit::<Foo>("example", |foo| foo.spec.deployment_name = "named".to_owned())
        .await;
    env.eventually::<Deployment>("named", |_| true).await;
    running.stop().await;
}

#[kubewright::test]
async fn a_controller_that_comes_later_finds_what_it_missed() {
    let env = builder(WITH_STATUS).controllers(Controllers::none()).start().await;
    let running = Running::start(&env, StatusBy::Subresource).await;
    create(&env, "web", Some(1)).await;
    env.eventually::<Deployment>("web", |_| true).await;
    running.stop().await;

    env.edit::<Foo>("example", |foo| foo.spec.replicas = Some(2)).await;
    let running = Running::start(&env, StatusBy::Subresource).await;
    env.eventually_matches::<Deployment>("web", matchers::field("spec.replicas", 2))
        .await;
    running.stop().await;
}

#[kubewright::test]
async fn a_definition_without_the_status_subresource_has_its_status_by_update() {
    let env = builder(WITHOUT_STATUS).start().await;
    let running = Running::start(&env, StatusBy::Update).await;
    create(&env, "web", Some(2)).await;
    env.eventually_matches::<Foo>("example", matchers::field("status.availableReplicas", 2))
        .await;
    running.stop().await;
}

#[kubewright::test]
async fn the_schema_bounds_the_replicas() {
    for definition in [WITH_STATUS, WITHOUT_STATUS] {
        let env = builder(definition).controllers(Controllers::none()).start().await;
        let sample = std::fs::read_to_string("artifacts/examples/example-foo.yaml").unwrap();
        env.apply(sample.clone()).await;
        for (number, words) in [("0", "greater than or equal to 1"), ("11", "less than or equal to 10")] {
            let foo = sample.replace("replicas: 1", &format!("replicas: {number}"));
            let refused = env.try_apply(foo).await.expect_err("it is refused").to_string();
            assert!(refused.contains(words), "{refused}");
        }
    }
}

#[kubewright::test]
async fn a_controller_that_never_saw_the_cluster_says_so_when_it_is_stopped() {
    let env = builder(WITH_STATUS).controllers(Controllers::none()).start().await;
    // Nobody gave this account the right to list anything.
    let nobody = env.as_user("nobody", ["system:authenticated"]);
    let (stopper, stop) = Stopper::new();
    let task = tokio::spawn(sample_controller::run(
        nobody.kube().clone(),
        StatusBy::default(),
        Sources::system(),
        stop,
    ));
    tokio::task::yield_now().await;
    stopper.stop();
    let error = task.await.unwrap().unwrap_err();
    assert_eq!(error.to_string(), "failed to wait for caches to sync");
}
