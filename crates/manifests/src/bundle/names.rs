//! Sets names and namespaces as kustomize does for `namePrefix` and `namespace`, also where objects refer to each other.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::install::{NAMESPACE_ANNOTATION, Settings};

/// The kinds of an installation that are not namespaced.
const CLUSTER_WIDE: [&str; 12] = [
    "APIService",
    "ClusterRole",
    "ClusterRoleBinding",
    "CustomResourceDefinition",
    "MutatingAdmissionPolicy",
    "MutatingAdmissionPolicyBinding",
    "MutatingWebhookConfiguration",
    "Namespace",
    "PriorityClass",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionPolicyBinding",
    "ValidatingWebhookConfiguration",
];

/// Kinds whose names get no prefix.
const KEEP_NAME: [&str; 3] = ["CustomResourceDefinition", "Namespace", "APIService"];

/// Sets the names and namespaces of all objects and of their references to each other.
pub(super) fn apply(objects: &mut [&mut Value], settings: &Settings) {
    let renamed: BTreeSet<(String, String)> = objects
        .iter()
        .filter_map(|object| {
            let kind = object["kind"].as_str()?;
            let name = object["metadata"]["name"].as_str()?;
            (!KEEP_NAME.contains(&kind)).then(|| (kind.to_owned(), name.to_owned()))
        })
        .collect();
    let names = Names { renamed, settings };
    for object in objects {
        names.rename_references(object);
        names.set_name(object);
    }
}

struct Names<'a> {
    /// Kind and name of each object that gets the prefix.
    renamed: BTreeSet<(String, String)>,
    settings: &'a Settings,
}

impl Names<'_> {
    fn set_name(&self, object: &mut Value) {
        let kind = object["kind"].as_str().unwrap_or_default().to_owned();
        let metadata = &mut object["metadata"];
        match metadata["name"].as_str() {
            Some(_) if kind == "Namespace" => metadata["name"] = self.settings.namespace.as_str().into(),
            Some(name) if !KEEP_NAME.contains(&kind.as_str()) => {
                metadata["name"] = format!("{}{name}", self.settings.prefix).into();
            }
            _ => {}
        }
        if !CLUSTER_WIDE.contains(&kind.as_str()) {
            let other_namespace = metadata["annotations"][NAMESPACE_ANNOTATION]
                .as_str()
                .map(str::to_owned);
            metadata["namespace"] = other_namespace
                .unwrap_or_else(|| self.settings.namespace.clone())
                .into();
        }
    }

    /// Renames the objects that an object refers to.
    fn rename_references(&self, object: &mut Value) {
        match object["kind"].as_str().unwrap_or_default() {
            "RoleBinding" | "ClusterRoleBinding" => {
                let kind = object["roleRef"]["kind"].as_str().unwrap_or_default().to_owned();
                self.rename(&kind, object.pointer_mut("/roleRef/name"));
                for subject in list(object, "/subjects") {
                    let kind = subject["kind"].as_str().unwrap_or_default().to_owned();
                    if self.rename(&kind, subject.get_mut("name")) {
                        subject["namespace"] = self.settings.namespace.as_str().into();
                    }
                }
            }
            "Deployment" => {
                let pod = "/spec/template/spec";
                self.rename(
                    "ServiceAccount",
                    object.pointer_mut(&format!("{pod}/serviceAccountName")),
                );
            }
            "MutatingWebhookConfiguration" | "ValidatingWebhookConfiguration" => {
                for webhook in list(object, "/webhooks") {
                    self.rename_service(webhook.pointer_mut("/clientConfig/service"));
                }
            }
            "CustomResourceDefinition" => {
                self.rename_service(object.pointer_mut("/spec/conversion/webhook/clientConfig/service"));
            }
            "MutatingAdmissionPolicyBinding" | "ValidatingAdmissionPolicyBinding" => {
                let kind = object["kind"].as_str().unwrap_or_default().replace("Binding", "");
                self.rename(&kind, object.pointer_mut("/spec/policyName"));
            }
            "APIService" => self.rename_service(object.pointer_mut("/spec/service")),
            "Certificate" => {
                let kind = object["spec"]["issuerRef"]["kind"]
                    .as_str()
                    .unwrap_or("Issuer")
                    .to_owned();
                self.rename(&kind, object.pointer_mut("/spec/issuerRef/name"));
            }
            _ => {}
        }
    }

    fn rename_service(&self, service: Option<&mut Value>) {
        let Some(service) = service else { return };
        if self.rename("Service", service.get_mut("name")) {
            service["namespace"] = self.settings.namespace.as_str().into();
        }
    }

    /// Adds the prefix if the name is that of an object of the installation; tells whether it was.
    fn rename(&self, kind: &str, name: Option<&mut Value>) -> bool {
        let Some(name) = name else { return false };
        let text = name.as_str().unwrap_or_default().to_owned();
        let is_ours = self.renamed.contains(&(kind.to_owned(), text.clone()));
        if is_ours {
            *name = format!("{}{text}", self.settings.prefix).into();
        }
        is_ours
    }
}

fn list<'v>(object: &'v mut Value, pointer: &str) -> impl Iterator<Item = &'v mut Value> {
    object
        .pointer_mut(pointer)
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
}
