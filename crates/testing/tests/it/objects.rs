//! What a test does first: start, apply, wait.

use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kubewright_runtime::policy::Policy;
use kubewright_testing::matchers::{Matcher as _, condition, controlled_by, field};
use kubewright_testing::{Controllers, Mode, PodSecurity, TestEnv};

use crate::garden::{Garden, SAMPLE, operator, operator_with_webhooks};

#[kubewright_testing::test]
async fn a_sample_is_accepted_and_reconciled() {
    let env = TestEnv::start(operator()).await;
    env.apply(SAMPLE).await;
    let garden = env
        .eventually_matches::<Garden>("roses", condition("Ready", "True"))
        .await;
    let plants = controlled_by(&garden).and(field("data.plant-1", "green"));
    env.eventually_matches::<ConfigMap>("roses", plants).await;
    env.eventually_event::<Garden>("roses", "Planted").await;
    let labels = [("controller", "garden"), ("result", "success")];
    env.eventually_metric("controller_runtime_reconcile_total", &labels, |count| count >= 1.0)
        .await;
}

#[kubewright_testing::test]
async fn the_webhooks_of_the_operator_answer() {
    let env = TestEnv::start(operator_with_webhooks()).await;
    env.apply(SAMPLE).await;
    assert_eq!(
        env.get::<Garden>("roses").await.spec.gardener.as_deref(),
        Some("somebody")
    );
    let unlucky = SAMPLE.replace("plants: 2", "plants: 13");
    let error = env.try_apply(unlucky).await.unwrap_err().text();
    assert!(
        error.contains("denied the request: thirteen brings bad luck"),
        "{error}"
    );
}

#[kubewright_testing::test]
async fn the_policies_of_the_operator_are_in_effect() {
    let operator = operator()
        .policy(
            Policy::validating("luck")
                .of::<Garden>()
                .rule("object.spec.plants != 13", "thirteen brings bad luck"),
        )
        .policy(
            Policy::mutating("gardener")
                .of::<Garden>()
                .condition("has-none", "!has(object.spec.gardener)")
                .apply("Object{spec: Object.spec{gardener: 'somebody'}}"),
        );
    let env = TestEnv::start(operator).await;
    env.apply(SAMPLE).await;
    let garden = env.get::<Garden>("roses").await;
    assert_eq!(garden.spec.gardener.as_deref(), Some("somebody"));
    let unlucky = SAMPLE.replace("plants: 2", "plants: 13");
    let error = env.try_apply(unlucky.clone()).await.unwrap_err().text();
    let denied =
        "ValidatingAdmissionPolicy 'garden-luck' with binding 'garden-luck' denied request: thirteen brings bad luck";
    assert!(error.contains(denied), "{error}");
    // A fork has them, too.
    let error = env.fork().await.try_apply(unlucky).await.unwrap_err().text();
    assert!(error.contains(denied), "{error}");
}

#[kubewright_testing::test]
async fn a_mistake_in_a_policy_is_told_when_the_environment_starts() {
    let policy = Policy::validating("luck")
        .of::<Garden>()
        .rule("objct.spec.plants != 13", "no");
    let builder = TestEnv::builder().operator(operator().policy(policy)).embedded();
    let error = builder.try_start().await.unwrap_err().text();
    assert!(
        error.contains("ValidatingAdmissionPolicy garden-luck") && error.contains("undeclared reference to 'objct'"),
        "{error}"
    );
}

const POD: &str = "{apiVersion: v1, kind: Pod, metadata: {name: web}, spec: {containers: [{name: web, image: nginx}]}}";

#[kubewright_testing::test]
async fn a_quota_and_pod_security_hold_from_the_beginning_with_controllers_and_without() {
    for controllers in [Controllers::all(), Controllers::none()] {
        let builder = TestEnv::builder().embedded().controllers(controllers);
        let env = builder.quota([("pods", "0")]).start().await;
        let error = env.try_apply(POD).await.unwrap_err().text();
        assert!(
            error.contains("exceeded quota: quota, requested: pods=1, used: pods=0, limited: pods=0"),
            "{error}"
        );
        let restricted = env
            .create_namespace()
            .pod_security(PodSecurity::Restricted)
            .label("team", "shop")
            .await;
        let namespace = env.get::<Namespace>(restricted.as_str()).await;
        assert_eq!(namespace.metadata.labels.unwrap()["team"], "shop");
        let elsewhere = |namespace: &str| POD.replace("name: web}", &format!("name: web, namespace: {namespace}}}"));
        let error = env.try_apply(elsewhere(&restricted)).await.unwrap_err().text();
        assert!(error.contains("violates PodSecurity \"restricted:latest\""), "{error}");
        let plain = env.create_namespace().await;
        env.apply(elsewhere(&plain)).await;
    }
}

#[kubewright_testing::test]
async fn the_namespace_of_a_test_may_ask_for_hardened_pods() {
    let env = TestEnv::builder()
        .pod_security(PodSecurity::Baseline)
        .embedded()
        .start()
        .await;
    env.apply(POD).await;
    let hosts = POD.replace("name: web}, spec: {", "name: host}, spec: {hostNetwork: true, ");
    let error = env.try_apply(hosts).await.unwrap_err().text();
    assert!(
        error.contains("violates PodSecurity \"baseline:latest\": host namespaces"),
        "{error}"
    );
}

#[kubewright_testing::test]
async fn a_change_is_reconciled_and_a_deleted_child_comes_back() {
    let env = TestEnv::start(operator()).await;
    env.apply(SAMPLE).await;
    env.eventually::<ConfigMap>("roses", |map| map.data.as_ref().is_some_and(|data| data.len() == 2))
        .await;
    env.edit::<Garden>("roses", |garden| garden.spec.plants = 3).await;
    env.eventually::<ConfigMap>("roses", |map| map.data.as_ref().is_some_and(|data| data.len() == 3))
        .await;
    env.delete::<ConfigMap>("roses").await;
    env.eventually_list::<ConfigMap>(|maps| maps.iter().any(|map| map.metadata.name.as_deref() == Some("roses")))
        .await;
}

#[kubewright_testing::test]
async fn what_the_definition_forbids_is_refused() {
    let env = TestEnv::start(operator()).await;
    let wrong = SAMPLE.replace("plants: 2", "plants: many");
    let error = env.try_apply(wrong).await.unwrap_err().text();
    assert!(error.contains("spec.plants"), "{error}");
    let unknown = SAMPLE.replace("plants: 2", "plants: 2, weeds: 7");
    let error = env.try_apply(unknown).await.unwrap_err().text();
    assert!(error.contains("weeds"), "{error}");
}

#[kubewright_testing::test(flavor = "multi_thread")]
async fn environments_do_not_see_each_other() {
    // A machine has room for many embedded servers, but not for many real ones.
    let count = if Mode::from_environment() == Mode::Embedded {
        20
    } else {
        2
    };
    let envs = futures_util::future::join_all((0..count).map(|_| TestEnv::start(operator()))).await;
    for (number, env) in envs.iter().enumerate() {
        let sample = SAMPLE.replace("plants: 2", &format!("plants: {number}"));
        env.apply(sample).await;
    }
    for (number, env) in envs.iter().enumerate() {
        let has = |map: &ConfigMap| map.data.as_ref().map_or(0, std::collections::BTreeMap::len) == number;
        env.eventually::<ConfigMap>("roses", has).await;
    }
}

#[kubewright_testing::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_environment_may_move_between_threads() {
    let test = async {
        let env = TestEnv::start(operator()).await;
        env.apply(SAMPLE).await;
        env.eventually::<Garden>("roses", |garden| garden.status.is_some())
            .await;
        env.settle().await;
        env.stop().await;
    };
    tokio::spawn(test).await.unwrap();
}

#[kubewright_testing::test]
async fn another_user_may_do_what_roles_say() {
    let env = TestEnv::start(operator()).await;
    env.apply(SAMPLE).await;
    let key = kubewright_runtime::object::ObjectKey::namespaced(env.namespace(), "roses");
    let jane = env.as_user("jane", ["staff"]);
    assert_eq!(jane.get::<Garden>(&key).await.unwrap_err().code(), Some(403));
    let admin = env.as_user("root", ["system:masters"]);
    assert_eq!(admin.get::<Garden>(&key).await.unwrap().spec.plants, 2);
}

#[kubewright_testing::test]
async fn a_client_outside_finds_the_server_by_its_kubeconfig() {
    let env = TestEnv::start(operator()).await;
    env.apply(SAMPLE).await;
    let kubeconfig: kube::config::Kubeconfig = kube::config::Kubeconfig::from_yaml(&env.kubeconfig().await).unwrap();
    let options = kube::config::KubeConfigOptions::default();
    let config = kube::Config::from_custom_kubeconfig(kubeconfig, &options)
        .await
        .unwrap();
    let client = kube::Client::try_from(config).unwrap();
    let gardens: kube::Api<Garden> = kube::Api::namespaced(client, env.namespace());
    assert_eq!(gardens.get("roses").await.unwrap().spec.plants, 2);
}
