//! `DefaultIngressClass` and `DefaultStorageClass`: what names no class gets the one that calls itself the default (A19).

use serde_json::Value;

use super::{AdmissionPlugin, Attributes, Plugin};
use crate::object::meta_text;
use crate::registry::BuiltInId;
use crate::wire::status::Result;

pub(super) struct DefaultIngressClass;
pub(super) struct DefaultStorageClass;

const INGRESS_CLASS: &str = "kubernetes.io/ingress.class";
const DEFAULT_INGRESS_CLASS: [&str; 1] = ["ingressclass.kubernetes.io/is-default-class"];
const STORAGE_CLASS: &str = "volume.beta.kubernetes.io/storage-class";
const DEFAULT_STORAGE_CLASS: [&str; 2] = [
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
];

impl Plugin for DefaultIngressClass {
    fn switch(&self) -> Option<AdmissionPlugin> {
        Some(AdmissionPlugin::DefaultIngressClass)
    }

    fn mutate(&self, attributes: &Attributes<'_>, ingress: &mut Value, _old: Option<&Value>) -> Result<()> {
        if attributes.creates(BuiltInId::Ingresses) && !has(ingress, "ingressClassName", INGRESS_CLASS) {
            let class = default_class(attributes, BuiltInId::IngressClasses, &DEFAULT_INGRESS_CLASS);
            set(ingress, "ingressClassName", class);
        }
        Ok(())
    }
}

impl Plugin for DefaultStorageClass {
    fn switch(&self) -> Option<AdmissionPlugin> {
        Some(AdmissionPlugin::DefaultStorageClass)
    }

    fn mutate(&self, attributes: &Attributes<'_>, claim: &mut Value, _old: Option<&Value>) -> Result<()> {
        if attributes.creates(BuiltInId::PersistentVolumeClaims) && !has(claim, "storageClassName", STORAGE_CLASS) {
            let class = default_class(attributes, BuiltInId::StorageClasses, &DEFAULT_STORAGE_CLASS);
            set(claim, "storageClassName", class);
        }
        Ok(())
    }
}

/// Whether a class is named, be it the empty one, by the field or the annotation from before there was one.
fn has(object: &Value, field: &str, annotation: &str) -> bool {
    let named = object.get("spec").and_then(|spec| spec.get(field));
    let annotations = object.pointer("/metadata/annotations");
    named.is_some_and(|named| !named.is_null()) || annotations.is_some_and(|all| all.get(annotation).is_some())
}

/// The newest of the classes that call themselves the default.
fn default_class(attributes: &Attributes<'_>, classes: BuiltInId, annotations: &[&str]) -> Option<String> {
    let is_default = |class: &Value| {
        let known = class.pointer("/metadata/annotations");
        annotations
            .iter()
            .any(|annotation| known.and_then(|known| known.get(annotation)) == Some(&"true".into()))
    };
    let mut defaults = attributes.all_stored(classes, None);
    defaults.retain(is_default);
    let newest = defaults
        .iter()
        .map(|class| meta_text(class, "creationTimestamp").to_owned())
        .max()?;
    let mut newest = defaults
        .iter()
        .filter(|class| meta_text(class, "creationTimestamp") == newest);
    newest.next().map(|class| meta_text(class, "name").to_owned())
}

fn set(object: &mut Value, field: &str, class: Option<String>) {
    let spec = object.get_mut("spec").and_then(Value::as_object_mut);
    if let (Some(spec), Some(class)) = (spec, class) {
        spec.insert(field.to_owned(), class.into());
    }
}
