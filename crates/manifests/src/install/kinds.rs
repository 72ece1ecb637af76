//! The kinds of the operator: their definitions, how they are converted, and the roles that people get for them.

use serde_json::{Value, json};

use super::network::WEBHOOK_SERVICE;
use super::place::NAMESPACE;
use super::{Part, Place, certificates};
use crate::definitions::file_name;
use crate::roles::{RoleOptions, of_kind};

/// `config/crd`; nothing, if there are no kinds.
pub(super) fn parts(place: &Place<'_>, definitions: &[Value]) -> Vec<Part> {
    if definitions.is_empty() {
        return Vec::new();
    }
    let mut kustomization = json!({ "resources": [] });
    let mut parts = Vec::new();
    let mut patches = Vec::new();
    for definition in definitions {
        let file = file_name(definition);
        let mut base = definition.clone();
        if let Some(spec) = base["spec"].as_object_mut() {
            // Who converts is patched in, since it is only there once the manager is.
            spec.remove("conversion");
        }
        parts.push(Part::of(format!("crd/bases/{file}"), &base));
        if let Some(patch) = conversion(place, definition) {
            let path = patch_path(place, definition);
            patches.push(json!({ "path": path }));
            parts.push(Part::of(format!("crd/{path}"), &patch));
        }
    }
    let listed: Vec<&str> = parts
        .iter()
        .filter_map(|part| part.path.strip_prefix("config/crd/"))
        .filter(|path| path.starts_with("bases/"))
        .collect();
    kustomization["resources"] = json!(listed);
    if !patches.is_empty() {
        kustomization["patches"] = json!(patches);
        kustomization["configurations"] = json!(["kustomizeconfig.yaml"]);
        parts.push(Part::of("crd/kustomizeconfig.yaml", &references()));
    }
    parts.push(Part::of("crd/kustomization.yaml", &kustomization));
    parts
}

/// Where the patch of a definition is, from `config/crd`.
fn patch_path(place: &Place<'_>, definition: &Value) -> String {
    let text = |pointer: &str| definition.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let (group, plural) = (text("/spec/group"), text("/spec/names/plural"));
    if place.has_several_groups() {
        format!("patches/webhook_in_{}_{plural}.yaml", place.short_group(group))
    } else {
        format!("patches/webhook_in_{plural}.yaml")
    }
}

/// What tells the API server to convert through the manager, if the kind is converted.
fn conversion(place: &Place<'_>, definition: &Value) -> Option<Value> {
    let name = definition["metadata"]["name"].as_str()?;
    let mut conversions = place.operator.conversions.iter();
    conversions.find(|conversion| conversion.definition == name)?;
    let mut patch = json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": { "name": name },
        "spec": { "conversion": {
            "strategy": "Webhook",
            "webhook": {
                "clientConfig": {
                    "service": { "namespace": NAMESPACE, "name": WEBHOOK_SERVICE, "path": "/convert" },
                },
                "conversionReviewVersions": ["v1"],
            },
        }},
    });
    certificates::annotate(place, &mut patch);
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

/// The roles of people: admin, editor and viewer of each kind.
pub(super) fn roles(place: &Place<'_>) -> Vec<Part> {
    let mut seen = Vec::new();
    let mut parts = Vec::new();
    for definition in &place.operator.definitions {
        // Versions of one kind share their roles.
        let kind = (&definition.group, &definition.kind);
        if seen.contains(&kind) {
            continue;
        }
        seen.push(kind);
        let options = RoleOptions {
            group: place
                .has_several_groups()
                .then(|| place.short_group(&definition.group).to_owned()),
            namespaced: place.settings.namespaced,
            ..RoleOptions::new(&place.operator.name)
        };
        for mut role in of_kind(definition, &options) {
            if place.settings.namespaced {
                role.object["metadata"]["namespace"] = NAMESPACE.into();
            }
            let text = format!("# {}\n{}", role.purpose, kubewright_codec::yaml::encode(&role.object));
            parts.push(Part::new(format!("rbac/{}", role.file_name), &text));
        }
    }
    parts
}
