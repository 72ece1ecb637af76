//! Certificates that are asked for through the API.

use k8s_openapi::ByteString;
use k8s_openapi::api::authentication::v1::SelfSubjectReview;
use k8s_openapi::api::certificates::v1::{CertificateSigningRequest, CertificateSigningRequestCondition};
use kube::api::{Api, PostParams};
use kubewright_testing::{ControllerName, Controllers, TestEnv};
use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair};
use serde_json::{Value, json};

#[kubewright_testing::test]
async fn an_approved_request_yields_a_certificate_by_which_the_server_knows_the_user() {
    let controllers = Controllers::only([ControllerName::CsrSigning]);
    let env = TestEnv::builder().embedded().controllers(controllers).start().await;
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, "jane");
    let asked = params.serialize_request(&key).unwrap().pem().unwrap();
    let request = json!({
        "apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest", "metadata": { "name": "jane" },
        "spec": {
            "request": ByteString(asked.into_bytes()), "signerName": "kubernetes.io/kube-apiserver-client",
            "usages": ["client auth"],
        },
    });
    env.apply(request).await;

    let requests: Api<CertificateSigningRequest> = Api::all(env.kube());
    let mut approved = env.get::<CertificateSigningRequest>("jane").await;
    let condition = CertificateSigningRequestCondition {
        type_: "Approved".to_owned(),
        status: "True".to_owned(),
        reason: Some("Known".to_owned()),
        ..CertificateSigningRequestCondition::default()
    };
    approved.status.get_or_insert_default().conditions = Some(vec![condition]);
    let defaults = PostParams::default();
    requests
        .replace_subresource("approval", "jane", &defaults, &approved)
        .await
        .unwrap();
    let is_issued = |request: &CertificateSigningRequest| {
        let certificate = request.status.as_ref().and_then(|status| status.certificate.as_ref());
        certificate.is_some()
    };
    let issued = env.eventually::<CertificateSigningRequest>("jane", is_issued).await;
    let certificate = issued.status.unwrap().certificate.unwrap();

    let kubeconfig = kube::config::Kubeconfig::from_yaml(&env.kubeconfig().await).unwrap();
    let mut kubeconfig: Value = serde_json::to_value(kubeconfig).unwrap();
    kubeconfig["users"][0]["user"] = json!({
        "client-certificate-data": certificate,
        "client-key-data": ByteString(key.serialize_pem().into_bytes()),
    });
    let jane: kube::config::Kubeconfig = serde_json::from_value(kubeconfig).unwrap();
    let options = kube::config::KubeConfigOptions::default();
    let jane = kube::Config::from_custom_kubeconfig(jane, &options).await.unwrap();
    let reviews: Api<SelfSubjectReview> = Api::all(kube::Client::try_from(jane).unwrap());
    let review = reviews.create(&defaults, &SelfSubjectReview::default()).await.unwrap();
    let user = review.status.unwrap().user_info.unwrap();
    assert_eq!(user.username.as_deref(), Some("jane"));
    env.stop().await;
}
