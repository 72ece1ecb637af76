{{header}}//! `{{kind}}`s on a Kubernetes API in this process.

{{imports}}

{{sample_constant}}
{{name_constant}}

fn is_available(object: &{{kind}}) -> bool {
    let status = object.status.as_ref();
    status.is_some_and(|status| is_condition_true(&status.conditions, "Available"))
}

#[kubewright::test]
async fn a_sample_is_accepted_and_reconciled() {
    let env = TestEnv::start({{crate}}::operator()).await;
    env.apply_file(SAMPLE).await;
    env.eventually(NAME, is_available).await;
    env.assert_idempotent().await;
}
