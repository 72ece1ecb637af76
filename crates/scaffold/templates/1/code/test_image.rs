{{header}}//! `{{kind}}`s on a Kubernetes API in this process.

{{imports}}

{{sample_constant}}
{{name_constant}}

fn is_available(object: &{{kind}}) -> bool {
    let status = object.status.as_ref();
    status.is_some_and(|status| is_condition_true(&status.conditions, "Available"))
}

fn is_kept(object: &{{kind}}) -> bool {
    !object.finalizers().is_empty()
}

fn grow(object: &mut {{kind}}) {
    object.spec.size = 2;
}

fn replicas(deployment: &Deployment) -> Option<i32> {
    deployment.spec.as_ref()?.replicas
}

fn has_one(deployment: &Deployment) -> bool {
    replicas(deployment) == Some(1)
}

fn has_two(deployment: &Deployment) -> bool {
    replicas(deployment) == Some(2)
}

#[kubewright::test]
async fn a_sample_gets_a_deployment_of_its_size() {
    let env = TestEnv::start({{crate}}::operator()).await;
    env.apply_file(SAMPLE).await;
    env.eventually(NAME, has_one).await;
    env.edit(NAME, grow).await;
    env.eventually(NAME, has_two).await;
}

#[kubewright::test]
async fn it_is_available_when_its_pods_run() {
    let env = TestEnv::start({{crate}}::operator()).await;
    env.apply_file(SAMPLE).await;
    // The controllers of the cluster bring its Deployment about, on a simulated node.
    env.eventually(NAME, is_available).await;
    env.assert_idempotent().await;
}

#[kubewright::test]
async fn it_is_cleaned_up_before_it_goes() {
    let env = TestEnv::start({{crate}}::operator()).await;
    env.apply_file(SAMPLE).await;
    env.eventually(NAME, is_kept).await;
    {{delete}}
    {{gone}}
}
