{{header}}//! The webhooks of `{{kind}}`, called by a Kubernetes API in this process.

{{imports}}

{{sample_constant}}
{{name_constant}}

#[kubewright::test]
async fn a_sample_is_admitted() {
    let env = TestEnv::start({{crate}}::operator()).await;
    env.apply_file(SAMPLE).await;
    let stored: {{kind}} = env.get(NAME).await;

    // Say here what your defaults make of it, and let `env.try_apply(…)` show what is refused.
    assert!(stored.metadata.uid.is_some());
}
