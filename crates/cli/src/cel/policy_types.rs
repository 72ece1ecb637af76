//! The types of the kinds that a policy is about, by the schemas that the server publishes, and what does not fit them.

use std::collections::BTreeMap;

use kubewright_admission::policy::{TypeMistake, kind_of_params, kinds_to_check, published_type, type_mistakes};
use kubewright_admission::{GroupVersionKind, GroupVersionResource};
use kubewright_cel::Type;
use serde_json::Value as Json;

use super::hint;
use crate::trial_server::{TrialServer, base};

/// What is known about the types of a policy.
#[derive(Default)]
pub(super) struct PolicyTypes {
    /// How many kinds there are that expressions were compared with.
    pub(super) kinds: usize,
    /// Where they do not fit.
    pub(super) mistakes: Vec<TypeMistake>,
    /// The names of all fields of these kinds.
    pub(super) names: Vec<String>,
}

/// Compares the expressions of a policy with the kinds that its rules name one by one.
pub(super) async fn compare(server: &TrialServer, policy: &Json) -> PolicyTypes {
    let mut published = Published {
        server,
        documents: BTreeMap::new(),
    };
    let mut resources = Vec::new();
    kinds_to_check(policy, |resource| {
        resources.push(resource.clone());
        Vec::new()
    });
    let mut found: Vec<(GroupVersionResource, GroupVersionKind)> = Vec::new();
    for resource in resources {
        if let Some(kind) = published.kind_of(&resource).await {
            found.push((resource, kind));
        }
    }
    let kinds = kinds_to_check(policy, |wanted| {
        let kinds = found.iter().filter(|(resource, _)| resource == wanted);
        kinds.map(|(_, kind)| kind.clone()).collect()
    });
    let mut compared = PolicyTypes::default();
    let mut typed = Vec::new();
    for kind in kinds {
        if let Some(ty) = published.type_of(&kind).await {
            hint::names_of_type(&ty, &mut compared.names);
            typed.push((kind, ty));
        }
    }
    let params = match kind_of_params(policy) {
        Some(kind) => published.type_of(&kind).await,
        None => None,
    };
    if let Some(params) = &params {
        hint::names_of_type(params, &mut compared.names);
    }
    compared.kinds = typed.len();
    compared.mistakes = type_mistakes(policy, &typed, params.as_ref());
    compared
}

/// What the server publishes, each document asked for once.
struct Published<'s> {
    server: &'s TrialServer,
    documents: BTreeMap<String, Json>,
}

impl Published<'_> {
    async fn kind_of(&self, resource: &GroupVersionResource) -> Option<GroupVersionKind> {
        let version = version_of(&resource.group, &resource.version);
        let answer = self.server.send("GET", &base(&version), String::new()).await;
        let known = answer.body["resources"].as_array()?.iter();
        let mut own = known.filter(|known| known["name"].as_str() == Some(&resource.resource));
        let kind = own.next()?["kind"].as_str()?;
        Some(GroupVersionKind::new(&resource.group, &resource.version, kind))
    }

    /// The type of a kind; `None` if no schema of it is published.
    async fn type_of(&mut self, kind: &GroupVersionKind) -> Option<Type> {
        let path = format!("/openapi/v3{}", base(&version_of(&kind.group, &kind.version)));
        if !self.documents.contains_key(&path) {
            let answer = self.server.send("GET", &path, String::new()).await;
            self.documents.insert(path.clone(), answer.body);
        }
        published_type(&self.documents[&path], kind, &kind.kind)
    }
}

fn version_of(group: &str, version: &str) -> String {
    if group.is_empty() {
        version.to_owned()
    } else {
        format!("{group}/{version}")
    }
}
