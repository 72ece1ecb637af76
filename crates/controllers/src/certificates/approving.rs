//! Approves the requests of kubelets for certificates as clients, if whoever asks has the right to: a new node by the subresource
//! `nodeclient`, one that renews its own certificate by `selfnodeclient`.

use k8s_openapi::api::authorization::v1::{ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec};
use k8s_openapi::api::certificates::v1::{CertificateSigningRequest, CertificateSigningRequestCondition};
use kube::api::{Api, PostParams};
use kubewright_runtime::client::Client;
use kubewright_runtime::controller::{Action, Controller, Failure, Result};
use kubewright_x509::CertificateRequest;

use super::{has, is_issued, request};

/// The controller.
pub(crate) fn controller() -> Controller {
    Controller::of::<CertificateSigningRequest>()
        .named("certificatesigningrequest-approving-controller")
        .reconcile_objects::<CertificateSigningRequest, _>(move |context, csr| {
            let client = context.client();
            async move { approve(&client, &csr).await }
        })
}

/// The subresources that stand for the right, and what is written if it is there.
fn rights(csr: &CertificateSigningRequest, request: &CertificateRequest) -> Vec<(&'static str, &'static str)> {
    let usages = csr.spec.usages.as_deref().unwrap_or_default();
    let is_kubelets =
        csr.spec.signer_name == request::KUBELET_CLIENT && request::check_kubelet_client(request, usages).is_ok();
    let is_own = csr.spec.username.as_deref() == Some(request.common_name());
    let mut rights = Vec::new();
    if is_kubelets && is_own {
        let message = "Auto approving self kubelet client certificate after SubjectAccessReview.";
        rights.push(("selfnodeclient", message));
    }
    if is_kubelets {
        let message = "Auto approving kubelet client certificate after SubjectAccessReview.";
        rights.push(("nodeclient", message));
    }
    rights
}

async fn approve(client: &Client, csr: &CertificateSigningRequest) -> Result {
    if is_issued(csr) || has(csr, "Approved") || has(csr, "Denied") {
        return Ok(Action::done());
    }
    let Some(request) = request::parsed(&csr.spec) else {
        return Ok(Action::done());
    };
    let rights = rights(csr, &request);
    for (subresource, message) in &rights {
        if !is_allowed(client, csr, subresource).await? {
            continue;
        }
        let mut approved = csr.clone();
        let conditions = approved
            .status
            .get_or_insert_default()
            .conditions
            .get_or_insert_default();
        conditions.push(CertificateSigningRequestCondition {
            type_: "Approved".to_owned(),
            status: "True".to_owned(),
            reason: Some("AutoApproved".to_owned()),
            message: Some((*message).to_owned()),
            ..CertificateSigningRequestCondition::default()
        });
        let requests: Api<CertificateSigningRequest> = Api::all(client.kube().clone());
        let name = csr.metadata.name.as_deref().unwrap_or_default();
        requests
            .replace_subresource("approval", name, &PostParams::default(), &approved)
            .await
            .map_err(Failure::from)?;
        return Ok(Action::done());
    }
    if rights.is_empty() {
        Ok(Action::done())
    } else {
        // Somebody may give the right later.
        Ok(Action::requeue())
    }
}

/// Whether whoever asks for the certificate may.
async fn is_allowed(client: &Client, csr: &CertificateSigningRequest, subresource: &str) -> Result<bool> {
    let review = SubjectAccessReview {
        spec: SubjectAccessReviewSpec {
            user: csr.spec.username.clone(),
            uid: csr.spec.uid.clone(),
            groups: csr.spec.groups.clone(),
            extra: csr.spec.extra.clone(),
            resource_attributes: Some(ResourceAttributes {
                group: Some("certificates.k8s.io".to_owned()),
                version: Some("*".to_owned()),
                resource: Some("certificatesigningrequests".to_owned()),
                subresource: Some(subresource.to_owned()),
                verb: Some("create".to_owned()),
                ..ResourceAttributes::default()
            }),
            ..SubjectAccessReviewSpec::default()
        },
        ..SubjectAccessReview::default()
    };
    let reviews: Api<SubjectAccessReview> = Api::all(client.kube().clone());
    let review = reviews
        .create(&PostParams::default(), &review)
        .await
        .map_err(Failure::from)?;
    Ok(review.status.is_some_and(|status| status.allowed))
}
