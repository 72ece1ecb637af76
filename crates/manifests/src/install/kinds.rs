//! The kinds of the operator: their definitions, their conversion webhooks, and the roles of their users.

use serde_json::{Value, json};

use super::context::NAMESPACE;
use super::network::WEBHOOK_SERVICE;
use super::{GeneratedFile, RenderContext, certificates};
use crate::definitions::{WebhookService, file_name};
use crate::roles::{RoleOptions, of_kind};

/// `config/crd`; nothing, if there are no kinds.
pub(super) fn files(context: &RenderContext<'_>, definitions: &[Value]) -> Vec<GeneratedFile> {
    if definitions.is_empty() {
        return Vec::new();
    }
    let mut files = Vec::new();
    let mut patches = Vec::new();
    for definition in definitions {
        let file = file_name(definition);
        let mut base = definition.clone();
        if let Some(spec) = base["spec"].as_object_mut() {
            // The conversion webhook is a patch of its own: it works only once the manager runs.
            spec.remove("conversion");
        }
        files.push(GeneratedFile::of(format!("crd/bases/{file}"), base));
        if let Some(patch) = conversion(context, definition) {
            let path = patch_path(context, definition);
            patches.push(json!({ "path": path }));
            files.push(GeneratedFile::of(format!("crd/{path}"), patch));
        }
    }
    let bases: Vec<&str> = files
        .iter()
        .filter_map(|file| file.path.strip_prefix("config/crd/"))
        .filter(|path| path.starts_with("bases/"))
        .collect();
    let mut kustomization = json!({ "resources": bases });
    if !patches.is_empty() {
        kustomization["patches"] = json!(patches);
        kustomization["configurations"] = json!(["kustomizeconfig.yaml"]);
        files.push(GeneratedFile::of("crd/kustomizeconfig.yaml", references()));
    }
    files.push(GeneratedFile::of("crd/kustomization.yaml", kustomization));
    files
}

/// Where the patch of a definition is, from `config/crd`.
fn patch_path(context: &RenderContext<'_>, definition: &Value) -> String {
    let text = |pointer: &str| definition.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let (group, plural) = (text("/spec/group"), text("/spec/names/plural"));
    if context.has_several_groups() {
        format!("patches/webhook_in_{}_{plural}.yaml", context.short_group(group))
    } else {
        format!("patches/webhook_in_{plural}.yaml")
    }
}

/// The patch that makes the API server convert through the manager, if the kind is converted.
fn conversion(context: &RenderContext<'_>, definition: &Value) -> Option<Value> {
    let name = definition["metadata"]["name"].as_str()?;
    let mut conversions = context.operator.conversions.iter();
    conversions.find(|conversion| conversion.definition == name)?;
    let service = WebhookService {
        namespace: NAMESPACE.to_owned(),
        name: WEBHOOK_SERVICE.to_owned(),
    };
    let mut patch = json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": { "name": name },
        "spec": { "conversion": service.conversion() },
    });
    certificates::annotate(context, &mut patch);
    Some(patch)
}

/// Tells kustomize where a definition names a Service.
fn references() -> Value {
    let service = "spec/conversion/webhook/clientConfig/service";
    let definition = |field: &str| {
        json!({
            "kind": "CustomResourceDefinition",
            "group": "apiextensions.k8s.io",
            "version": "v1",
            "path": format!("{service}/{field}"),
        })
    };
    json!({ "nameReference": [{ "kind": "Service", "version": "v1", "fieldSpecs": [definition("name")] }] })
}

/// The roles of users: admin, editor and viewer of each kind.
pub(super) fn roles(context: &RenderContext<'_>) -> Vec<GeneratedFile> {
    let mut seen = Vec::new();
    let mut files = Vec::new();
    for definition in context.operator.definitions.iter().chain(&context.operator.aggregated) {
        // Versions of one kind share their roles.
        let kind = (&definition.group, &definition.kind);
        if seen.contains(&kind) {
            continue;
        }
        seen.push(kind);
        let options = RoleOptions {
            group: context
                .has_several_groups()
                .then(|| context.short_group(&definition.group).to_owned()),
            namespaced: context.settings.namespaced,
            ..RoleOptions::new(&context.operator.name)
        };
        for mut role in of_kind(definition, &options) {
            if context.settings.namespaced {
                role.object["metadata"]["namespace"] = NAMESPACE.into();
            }
            let path = format!("rbac/{}", role.file_name);
            files.push(GeneratedFile::of(path, role.object).commented(role.purpose));
        }
    }
    files
}
