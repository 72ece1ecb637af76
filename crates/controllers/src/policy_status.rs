//! The status of `ValidatingAdmissionPolicies`: what is wrong with the types of their expressions, by the schemas that the server
//! publishes. What it says is advice; the server evaluates the policy all the same.

use std::collections::BTreeMap;

use http::Request;
use k8s_openapi::api::admissionregistration::v1::ValidatingAdmissionPolicy;
use kubewright_admission::GroupVersionKind;
use kubewright_admission::policy::{check_types, kind_of_params, kinds_to_check, published_type};
use kubewright_runtime::client::Client;
use kubewright_runtime::controller::{Action, Controller, Result};
use kubewright_runtime::object::View;
use serde_json::{Value, json};

use crate::support::discovery::{self, ServedResource};

/// Who owns the status.
const FIELD_MANAGER: &str = "validatingadmissionpolicy-status";

/// The controller.
pub(crate) fn controller() -> Controller {
    Controller::of::<ValidatingAdmissionPolicy>()
        .named("validatingadmissionpolicy-status-controller")
        .reconcile_objects::<ValidatingAdmissionPolicy, _>(|context, policy| async move {
            check(&context.client(), &policy).await
        })
}

async fn check(client: &Client, policy: &View<ValidatingAdmissionPolicy>) -> Result {
    let generation = policy.metadata.generation.unwrap_or_default();
    let observed = policy.status.as_ref().and_then(|status| status.observed_generation);
    if generation <= observed.unwrap_or_default() {
        return Ok(Action::done());
    }
    let value = serde_json::to_value(&**policy)?;
    let resources = discovery::resources(client.kube()).await?;
    let kinds = kinds_to_check(&value, |wanted| kinds_of(&resources, wanted));
    let mut schemas = Schemas::new(client);
    let mut typed = Vec::new();
    for kind in kinds {
        if let Some(ty) = schemas.type_of(&kind).await? {
            typed.push((kind, ty));
        }
    }
    let params = match kind_of_params(&value) {
        Some(kind) => schemas.type_of(&kind).await?,
        None => None,
    };
    let warnings: Vec<Value> = check_types(&value, &typed, params.as_ref())
        .into_iter()
        .map(|warning| json!({ "fieldRef": warning.field_ref, "warning": warning.warning }))
        .collect();
    let mut type_checking = json!({});
    if !warnings.is_empty() {
        type_checking["expressionWarnings"] = warnings.into();
    }
    let status = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy",
        "metadata": { "name": policy.key().name() },
        "status": { "observedGeneration": generation, "typeChecking": type_checking },
    });
    let policies = client
        .field_owner(FIELD_MANAGER)
        .force()
        .of::<ValidatingAdmissionPolicy>();
    policies.status().apply_as::<Value>(policy.key(), &status).await?;
    Ok(Action::done())
}

/// The kinds of a resource, as clients find them: without a group in every group, by the plural or the singular name.
fn kinds_of(
    resources: &[ServedResource],
    wanted: &kubewright_admission::GroupVersionResource,
) -> Vec<GroupVersionKind> {
    let name = wanted.resource.to_lowercase();
    resources
        .iter()
        .filter(|served| {
            served.version == wanted.version
                && (wanted.group.is_empty() || served.group == wanted.group)
                && (served.plural == name || served.singular == name)
        })
        .map(|served| GroupVersionKind::new(&served.group, &served.version, &served.kind))
        .collect()
}

/// What the server publishes, each document asked for once.
struct Schemas<'c> {
    client: &'c Client,
    documents: BTreeMap<String, Option<Value>>,
}

impl<'c> Schemas<'c> {
    fn new(client: &'c Client) -> Self {
        Schemas {
            client,
            documents: BTreeMap::new(),
        }
    }

    /// The type of a kind; `None` if no schema of it is published.
    async fn type_of(
        &mut self,
        kind: &GroupVersionKind,
    ) -> std::result::Result<Option<kubewright_cel::Type>, kube::Error> {
        let path = if kind.group.is_empty() {
            format!("/openapi/v3/api/{}", kind.version)
        } else {
            format!("/openapi/v3/apis/{}/{}", kind.group, kind.version)
        };
        if !self.documents.contains_key(&path) {
            let document = self.document(&path).await?;
            self.documents.insert(path.clone(), document);
        }
        let document = self.documents.get(&path).and_then(Option::as_ref);
        // As upstream, types are told apart by the moment.
        let moment = self.client.clock().now().subsec_nanosecond();
        let name = format!("{}{moment}", kind.kind);
        Ok(document.and_then(|document| published_type(document, kind, &name)))
    }

    async fn document(&self, path: &str) -> std::result::Result<Option<Value>, kube::Error> {
        let request = Request::get(path).header("accept", "application/json").body(Vec::new());
        let request =
            request.map_err(|error| kube::Error::BuildRequest(kube::core::request::Error::BuildRequest(error)))?;
        match self.client.kube().request(request).await {
            Ok(document) => Ok(Some(document)),
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(None),
            Err(error) => Err(error),
        }
    }
}
