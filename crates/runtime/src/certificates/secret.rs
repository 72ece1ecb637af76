//! The Secret that all replicas share. If two replicas write it at the same time, one gets a conflict and reads it again.

use std::collections::BTreeMap;

use k8s_openapi::ByteString;
use serde_json::{Value, json};

use super::bundle::base64;
use super::error::KeepError;
use super::inject::CERT_MANAGER_CERTIFICATE;
use super::keys::Material;
use super::objects::{ObjectRef, Objects, Write, Written};

/// The label of Secrets that the runtime created, and may repair.
pub(super) const LABEL: &str = "kubewright.dev/certificates";

/// A Secret that was read.
pub(super) struct StoredSecret {
    object: Value,
    pub(super) material: Material,
}

impl StoredSecret {
    /// The names of the fields that cannot be read, for a message. A new, empty Secret is not broken.
    pub(super) fn broken(&self) -> Option<String> {
        let is_filled = self.object["data"].as_object().is_some_and(|data| !data.is_empty());
        let broken = self.material.broken.join(", ");
        (is_filled && !broken.is_empty()).then_some(broken)
    }
}

/// The Secret that all replicas share.
#[derive(Clone)]
pub(super) struct SharedSecret {
    objects: Objects,
    place: ObjectRef,
    namespace: String,
    name: String,
}

impl SharedSecret {
    pub(super) fn new(objects: Objects, namespace: &str, name: &str) -> Result<Self, KeepError> {
        Ok(SharedSecret {
            objects,
            place: ObjectRef::secret(namespace, name)?,
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        })
    }

    /// Its name for messages.
    pub(super) fn what(&self) -> &str {
        &self.place.what
    }

    /// Reads the Secret, and creates an empty one if there is none.
    pub(super) async fn read(&self) -> Result<Option<StoredSecret>, KeepError> {
        let object = if let Some(object) = self.objects.get(&self.place).await? {
            object
        } else {
            // Of replicas that do this at once each applies the same: the first creates, the others change nothing.
            let body = json!({
                "apiVersion": "v1",
                "kind": "Secret",
                "metadata": { "name": self.name, "namespace": self.namespace, "labels": { LABEL: "webhooks" } },
            });
            match self.objects.write(&self.place, Write::Apply, &body).await? {
                Written::Done(object) => object,
                Written::Stale => return Ok(None),
            }
        };
        let data = data(&object);
        let material = Material::read(&data);
        let is_filled = data.values().any(|bytes| !bytes.0.is_empty());
        if object["metadata"]["annotations"]
            .get(CERT_MANAGER_CERTIFICATE)
            .is_some()
        {
            return Err(self.foreign("cert-manager keeps a certificate in it"));
        }
        let is_ours = object["metadata"]["labels"].get(LABEL).is_some();
        if !is_ours && is_filled && !material.is_whole() {
            return Err(self.foreign(&format!(
                "it has data, but neither the label {LABEL} nor certificates of ours"
            )));
        }
        Ok(Some(StoredSecret { object, material }))
    }

    /// Writes it, unless it was changed since it was read: then the answer is false.
    pub(super) async fn write(&self, found: StoredSecret, material: &Material) -> Result<bool, KeepError> {
        let mut object = found.object;
        let mut written = BTreeMap::new();
        material.write(&mut written);
        for (field, bytes) in written {
            object["data"][field] = base64(&bytes.0).into();
        }
        object["metadata"]["labels"][LABEL] = "webhooks".into();
        let written = self.objects.write(&self.place, Write::Replace, &object).await?;
        Ok(matches!(written, Written::Done(_)))
    }

    fn foreign(&self, reason: &str) -> KeepError {
        KeepError::Foreign {
            secret: format!("{}/{}", self.namespace, self.name),
            reason: reason.to_owned(),
        }
    }
}

/// The server has checked that it is base64.
fn data(object: &Value) -> BTreeMap<String, ByteString> {
    serde_json::from_value(object["data"].clone()).unwrap_or_default()
}
