//! An aggregated API: the `APIServices` that send its requests to the manager, and what lets the manager ask about its clients.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::access::ACCOUNT;
use super::context::{NAMESPACE, NAMESPACE_ANNOTATION};
use super::file::kustomization;
use super::{GeneratedFile, RenderContext, certificates, network};

/// The port that the manager serves the API on.
pub(super) const PORT: u16 = 7443;
/// The Service that the `APIServices` name.
pub(super) const SERVICE: &str = "extension-service";
/// The binding in the namespace of the `ConfigMap` that says whom to trust.
pub(super) const READER: &str = "extension-auth-reader";
/// That namespace.
const SYSTEM: &str = "kube-system";

/// `config/apiservice`; nothing, if the operator serves no API itself.
pub(super) fn files(context: &RenderContext<'_>) -> Vec<GeneratedFile> {
    if !context.has_extension() {
        return Vec::new();
    }
    let port = json!({ "name": "https", "port": 443, "targetPort": PORT, "protocol": "TCP" });
    let mut files = vec![
        GeneratedFile::of_all("apiservice/apiservice.yaml", api_services(context)),
        GeneratedFile::of("apiservice/service.yaml", network::service(context, SERVICE, &port)),
    ];
    files.push(kustomization(&files, "apiservice"));
    files
}

/// One for each version that is served. The caBundle is filled in by the manager, or by cert-manager.
fn api_services(context: &RenderContext<'_>) -> Vec<Value> {
    let is_served = |kind: &&kubewright_description::DefinitionDescription| {
        kind.definition.pointer("/spec/versions/0/served") != Some(&Value::Bool(false))
    };
    let versions: BTreeSet<(&str, &str)> = context
        .operator
        .aggregated
        .iter()
        .filter(is_served)
        .map(|kind| (kind.group.as_str(), kind.version.as_str()))
        .collect();
    versions
        .into_iter()
        .map(|(group, version)| {
            let name = format!("{version}.{group}");
            let mut service = context.object("apiregistration.k8s.io/v1", "APIService", &name);
            service["spec"] = json!({
                "group": group,
                "version": version,
                // As for the kinds of definitions.
                "groupPriorityMinimum": 1000,
                "versionPriority": 100,
                "service": { "name": SERVICE, "namespace": NAMESPACE, "port": 443 },
            });
            certificates::annotate_with(context, &mut service, certificates::EXTENSION);
            service
        })
        .collect()
}

/// The bindings by which the manager may ask who a client is and what they may do, and read whom to trust.
pub(super) fn bindings(context: &RenderContext<'_>) -> Vec<GeneratedFile> {
    const API: &str = "rbac.authorization.k8s.io/v1";
    if !context.has_extension() {
        return Vec::new();
    }
    let role = |kind: &str, name: &str| json!({ "apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": name });
    let mut delegator = context.object(API, "ClusterRoleBinding", "extension-auth-delegator");
    delegator["roleRef"] = role("ClusterRole", "system:auth-delegator");
    delegator["subjects"] = json!([{ "kind": "ServiceAccount", "name": ACCOUNT, "namespace": NAMESPACE }]);
    let mut reader = context.namespaced(API, "RoleBinding", READER);
    reader["metadata"]["annotations"] = json!({ NAMESPACE_ANNOTATION: SYSTEM });
    reader["roleRef"] = role("Role", "extension-apiserver-authentication-reader");
    // kustomize does not rename the account in a binding of another namespace.
    let (account, namespace) = (context.full_name(ACCOUNT), context.settings.namespace.as_str());
    reader["subjects"] = json!([{ "kind": "ServiceAccount", "name": account, "namespace": namespace }]);
    vec![GeneratedFile::of_all(
        "rbac/extension_auth_binding.yaml",
        vec![delegator, reader],
    )]
}
