//! Deletes what a case created outside its namespace when the case is over, also after a failure. A webhook configuration that
//! outlived its webhook would block other cases.

use bytes::Bytes;
use http::Request;
use http::header::{ACCEPT, USER_AGENT};

use super::{CasePlayer, StepError, content};

/// Kinds as case files name them, and their collections. Webhooks come first, since they might refuse to delete the others.
const OUTLIVING: [(&str, &str); 8] = [
    (
        "WebhookConfiguration",
        "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations",
    ),
    (
        "WebhookConfiguration",
        "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
    ),
    ("APIService", "/apis/apiregistration.k8s.io/v1/apiservices"),
    ("ClusterRole", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"),
    ("ClusterRole", "/apis/rbac.authorization.k8s.io/v1/clusterroles"),
    (
        "CertificateSigningRequest",
        "/apis/certificates.k8s.io/v1/certificatesigningrequests",
    ),
    ("PriorityClass", "/apis/scheduling.k8s.io/v1/priorityclasses"),
    (
        "CustomResourceDefinition",
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
    ),
];

/// The collections in which a case may leave objects.
pub(super) fn of(source: &str) -> Vec<&'static str> {
    let mentioned = OUTLIVING.iter().filter(|(kind, _)| source.contains(kind));
    mentioned.map(|(_, collection)| *collection).collect()
}

impl CasePlayer<'_> {
    /// Deletes the objects whose names contain the unique text of the case.
    pub(super) async fn forget_leftovers(&mut self) {
        for collection in self.leaves.clone() {
            for name in self.names(collection).await.unwrap_or_default() {
                if name.contains(&self.unique)
                    && let Ok(request) = Request::delete(format!("{collection}/{name}"))
                        .header(USER_AGENT, "given")
                        .body(Bytes::new())
                    && let Ok(answer) = self.send(request).await
                {
                    drop(content(answer).await);
                }
            }
        }
    }

    async fn names(&mut self, collection: &str) -> Result<Vec<String>, StepError> {
        let request = Request::get(collection)
            .header(
                ACCEPT,
                "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
            )
            .header(USER_AGENT, "given");
        let answer = self.send(request.body(Bytes::new())?).await?;
        let list = content(answer).await?;
        let items = list["body"]["items"].as_array().cloned().unwrap_or_default();
        Ok(items
            .iter()
            .filter_map(|item| item["metadata"]["name"].as_str().map(str::to_owned))
            .collect())
    }
}
