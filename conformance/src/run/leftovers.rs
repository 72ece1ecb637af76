//! Deletes what a case created outside its namespace when the case is over, also after a failure. A webhook configuration that
//! outlived its webhook would block other cases.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use bytes::Bytes;
use http::Request;
use http::header::{ACCEPT, CONTENT_TYPE, USER_AGENT};
use kubewright_schema::resources;
use regex::Regex;

use super::{CasePlayer, StepError, content};

static KIND: LazyLock<Regex> = LazyLock::new(|| Regex::new(r#"kind"?: "?([A-Za-z]+)"#).expect("the pattern is valid"));

/// Kinds as case files name them, and their collections. Webhooks come first, since they might refuse to delete the others.
const OUTLIVING: [(&str, &str); 12] = [
    (
        "WebhookConfiguration",
        "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations",
    ),
    (
        "WebhookConfiguration",
        "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
    ),
    (
        "ValidatingAdmissionPolicy",
        "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings",
    ),
    (
        "ValidatingAdmissionPolicy",
        "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies",
    ),
    (
        "MutatingAdmissionPolicy",
        "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicybindings",
    ),
    (
        "MutatingAdmissionPolicy",
        "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies",
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

/// The collections in which a case may leave objects: those above, and those of any other cluster-scoped kind that the case names.
/// Namespaces are left alone, since nothing would ever finish their deletion.
pub(super) fn of(source: &str) -> Vec<String> {
    let mentioned = OUTLIVING.iter().filter(|(kind, _)| source.contains(kind));
    let mut collections: Vec<String> = mentioned.map(|(_, collection)| (*collection).to_owned()).collect();
    let named: BTreeSet<&str> = KIND
        .captures_iter(source)
        .filter_map(|found| Some(found.get(1)?.as_str()))
        .collect();
    for resource in resources().iter() {
        let outlives =
            !resource.namespaced && resource.kind != "Namespace" && resource.verbs.contains(&"deletecollection");
        if outlives && named.contains(resource.kind) {
            let root = if resource.group.is_empty() {
                "/api".to_owned()
            } else {
                format!("/apis/{}", resource.group)
            };
            let collection = format!("{root}/{}/{}", resource.version, resource.plural);
            if !collections.contains(&collection) {
                collections.push(collection);
            }
        }
    }
    collections
}

impl CasePlayer<'_> {
    /// Deletes the objects whose names contain the unique text of the case, also those that a finalizer holds.
    pub(super) async fn forget_leftovers(&mut self) {
        for collection in self.leaves.clone() {
            for name in self.names(&collection).await.unwrap_or_default() {
                if name.contains(&self.unique) {
                    drop(self.delete(&format!("{collection}/{name}")).await);
                }
            }
        }
    }

    async fn delete(&mut self, path: &str) -> Result<(), StepError> {
        let request = Request::delete(path).header(USER_AGENT, "given").body(Bytes::new())?;
        let answer = self.send(request).await?;
        let answer = content(answer).await?;
        // A definition's finalizer is the server's own, which deletes the objects of the kind.
        let held = answer["body"]["metadata"]["finalizers"].is_array() || answer["body"]["details"]["kind"].is_string();
        if held && !path.contains("customresourcedefinitions") {
            let request = Request::patch(path)
                .header(CONTENT_TYPE, "application/merge-patch+json")
                .header(USER_AGENT, "given")
                .body(Bytes::from_static(br#"{"metadata":{"finalizers":null}}"#))?;
            drop(content(self.send(request).await?).await?);
        }
        Ok(())
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
