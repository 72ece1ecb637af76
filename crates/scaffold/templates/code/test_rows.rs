{{header}}//! `{{kind}}`s behind a Kubernetes API in this process.

{{imports}}

#[kubewright::test]
async fn the_example_is_served() {
    let env = TestEnv::start({{crate}}::operator()).await;
    {{api}}
    let example = objects.get("example").await.unwrap();

    // Say here what your rows are.
    assert!(example.metadata.uid.is_some());
}
