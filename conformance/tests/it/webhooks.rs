//! A case does not affect others on its server: its webhooks are called for its own objects only, and it leaves no objects behind.

use std::fs;

use bytes::Bytes;
use http::Request;
use http_body_util::BodyExt;
use kubewright_conformance::case::CaseFile;
use kubewright_conformance::embedded::Embedded;
use kubewright_conformance::run::{PlayedCase, play};
use kubewright_conformance::target::Target;

const OUTLIVING: [&str; 4] = [
    "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
    "/apis/rbac.authorization.k8s.io/v1/clusterroles",
    "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
];

/// Plays a case from its text and returns the objects that it left behind.
async fn played(run: &str, text: &str) -> (PlayedCase, Vec<String>) {
    let folder = tempfile::tempdir().expect("there is room for a folder");
    let path = folder.path().join("case.yaml");
    fs::write(&path, text).expect("the case can be written");
    let file = CaseFile::load(folder.path(), &path).expect("the case can be read");
    let server = Embedded::start();
    let played = play(&*server, &file, &file.variants[0], run).await;
    let mut left = Vec::new();
    for collection in OUTLIVING {
        if listed(&*server, collection).await.contains(&played.unique) {
            left.push(collection.to_owned());
        }
    }
    (played, left)
}

async fn listed(server: &dyn Target, collection: &str) -> String {
    let request = Request::get(collection)
        .body(Bytes::new())
        .expect("the request can be made");
    let answer = server.send(request).await.expect("the server answers");
    let body = answer.into_body().collect().await.expect("the answer ends").to_bytes();
    String::from_utf8_lossy(&body).into_owned()
}

#[tokio::test]
async fn what_a_failed_case_made_is_gone() {
    let (played, left) = played(
        "failed",
        r#"
title: A case that fails in its middle
covers: [A1]
webhooks: {validate: {response: {allowed: false, status: {message: nothing goes}}}}
given:
  - {apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: "${unique}"}, rules: []}
  - {apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: "${unique}"}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: "${unique}"}}
  - apiVersion: apiextensions.k8s.io/v1
    kind: CustomResourceDefinition
    metadata: {name: "widgets.${unique}.example.com"}
    spec: {group: "${unique}.example.com", scope: Namespaced, names: {plural: widgets, kind: Widget}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]}
  - apiVersion: admissionregistration.k8s.io/v1
    kind: ValidatingWebhookConfiguration
    metadata: {name: "${unique}"}
    webhooks:
      - {name: validate.example.com, clientConfig: {url: "${webhook.url}/validate", caBundle: "${webhook.ca}"}, rules: [{operations: ["*"], apiGroups: ["*"], apiVersions: ["*"], resources: ["*/*"], scope: Namespaced}], namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: "${ns}"}}, sideEffects: None, admissionReviewVersions: [v1]}
steps:
  - request: POST /api/v1/namespaces/${ns}/configmaps
    body: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
  - request: GET /${nothing}
"#,
    )
    .await;
    let denial = played.steps[0]["body"]["message"].as_str().unwrap_or_default();
    assert!(denial.ends_with("denied the request: nothing goes"), "{denial}");
    assert_eq!(played.steps[0]["calls"][0]["call"], "POST /validate?timeout=10s");
    let failure = played.failure.expect("the second step cannot be played");
    assert!(failure.contains("${nothing} is not defined"), "{failure}");
    assert!(left.is_empty(), "{left:?} still hold what the case made");
}

#[tokio::test]
async fn a_webhook_for_everybody_is_not_even_made() {
    let (played, _) = played(
        "for everybody",
        r#"
title: A case whose webhook is asked about everything
covers: [A6]
webhooks: {validate: {}}
given:
  - apiVersion: admissionregistration.k8s.io/v1
    kind: ValidatingWebhookConfiguration
    metadata: {name: "${unique}"}
    webhooks:
      - {name: validate.example.com, clientConfig: {url: "${webhook.url}/validate"}, rules: [{operations: ["*"], apiGroups: [""], apiVersions: ["*"], resources: [pods]}], sideEffects: None, admissionReviewVersions: [v1]}
steps:
  - request: GET /version
"#,
    )
    .await;
    assert!(played.steps.is_empty());
    let failure = played.failure.expect("the case cannot be prepared");
    assert!(
        failure.contains("would be asked about what other cases do"),
        "{failure}"
    );
}
