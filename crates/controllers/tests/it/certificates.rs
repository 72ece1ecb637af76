//! A user's key, their request, an administrator's approval, and a certificate by which the server knows the user.

use std::process::Command;
use std::time::Duration;

use k8s_openapi::ByteString;
use k8s_openapi::api::authentication::v1::SelfSubjectReview;
use k8s_openapi::api::certificates::v1::CertificateSigningRequest;
use kube::api::{Api, PostParams};
use kubewright_apiserver::{ApiServer, Options};
use kubewright_controllers::{ControllerName, Controllers, SigningAuthority};
use kubewright_runtime::stop::Stopper;
use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair};
use serde_json::{Value, json};

#[tokio::test(flavor = "multi_thread")]
async fn kubectl_approves_a_request_and_the_server_knows_the_user_by_the_certificate() {
    let Some(kubectl) = kubewright_test_support::kubectl() else {
        return;
    };
    let server = ApiServer::new(Options::new());
    let listener = server.listen(0).await.unwrap();
    let (certificate, key) = listener.authority_pem();
    let authority = SigningAuthority::new(certificate, key).unwrap();
    let (stopper, stop) = Stopper::new();
    let controllers = Controllers::only([ControllerName::CsrSigning]).signing_authority(authority);
    let running = tokio::spawn(controllers.run(server.client(), stop));

    let users_key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, "jane");
    params.distinguished_name.push(DnType::OrganizationName, "developers");
    let asked = params.serialize_request(&users_key).unwrap().pem().unwrap();
    let requests: Api<CertificateSigningRequest> = Api::all(server.client());
    let request = json!({
        "metadata": { "name": "jane" },
        "spec": {
            "request": ByteString(asked.into_bytes()), "signerName": "kubernetes.io/kube-apiserver-client",
            "usages": ["client auth"], "expirationSeconds": 3600,
        },
    });
    let request = serde_json::from_value(request).unwrap();
    requests.create(&PostParams::default(), &request).await.unwrap();

    let folder = tempfile::tempdir().unwrap();
    let kubeconfig = folder.path().join("kubeconfig");
    std::fs::write(&kubeconfig, listener.kubeconfig()).unwrap();
    let approval = tokio::task::spawn_blocking(move || {
        let mut command = Command::new(kubectl);
        command
            .env("KUBECONFIG", kubeconfig)
            .args(["certificate", "approve", "jane"])
            .output()
    });
    let approval = approval.await.unwrap().unwrap();
    assert!(
        approval.status.success(),
        "{}",
        String::from_utf8_lossy(&approval.stderr)
    );

    let issued = async {
        loop {
            let status = requests.get("jane").await.unwrap().status.unwrap_or_default();
            if let Some(certificate) = status.certificate {
                return certificate;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let issued = tokio::time::timeout(Duration::from_secs(30), issued)
        .await
        .expect("a certificate");

    let mut admin: Value =
        serde_json::to_value(kube::config::Kubeconfig::from_yaml(&listener.kubeconfig()).unwrap()).unwrap();
    admin["users"][0]["user"] = json!({
        "client-certificate-data": issued,
        "client-key-data": ByteString(users_key.serialize_pem().into_bytes()),
    });
    let jane: kube::config::Kubeconfig = serde_json::from_value(admin).unwrap();
    let jane = kube::Config::from_custom_kubeconfig(jane, &kube::config::KubeConfigOptions::default())
        .await
        .unwrap();
    let reviews: Api<SelfSubjectReview> = Api::all(kube::Client::try_from(jane).unwrap());
    let review = reviews
        .create(&PostParams::default(), &SelfSubjectReview::default())
        .await
        .unwrap();
    let user = review.status.unwrap().user_info.unwrap();
    assert_eq!(user.username.as_deref(), Some("jane"));
    assert_eq!(user.groups.unwrap(), ["developers", "system:authenticated"]);
    stopper.stop();
    running.await.unwrap().unwrap();
}
