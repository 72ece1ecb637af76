//! Tokens that a node asks for: bound to a Pod of its own, for an audience that the Pod names.

use kubewright_access::Attributes as Asked;
use kubewright_apimachinery::go::quote;
use serde_json::Value;

use super::{Operation, Write, list, not_found, text};
use crate::object::meta_text;
use crate::registry::{BuiltInId, Subresource};
use crate::wire::status::Result;

const VERB: &str = "request-serviceaccounts-token-audience";
/// Volumes of old that a driver stands for today.
const MIGRATED: [(&str, &str); 7] = [
    ("awsElasticBlockStore", "ebs.csi.aws.com"),
    ("azureDisk", "disk.csi.azure.com"),
    ("azureFile", "file.csi.azure.com"),
    ("cinder", "cinder.csi.openstack.org"),
    ("gcePersistentDisk", "pd.csi.storage.gke.io"),
    ("portworxVolume", "pxd.portworx.com"),
    ("vsphereVolume", "csi.vsphere.vmware.com"),
];

impl Write<'_> {
    pub(super) fn of_token(&self) -> Result<Option<String>> {
        let attributes = self.attributes;
        if attributes.operation != Operation::Create || attributes.subresource != Some(Subresource::Token) {
            return Ok(None);
        }
        let refused = |why: &str| Ok(Some(why.to_owned()));
        let bound = self.object.pointer("/spec/boundObjectRef").unwrap_or(&Value::Null);
        let (name, uid) = (text(bound, "/name"), text(bound, "/uid"));
        let is_pod = (text(bound, "/apiVersion"), text(bound, "/kind")) == ("v1", "Pod");
        if !is_pod || name.is_empty() {
            return refused("node requested token not bound to a pod");
        }
        if uid.is_empty() {
            return refused("node requested token with a pod binding without a uid");
        }
        let key = format!("{}/{name}", attributes.namespace);
        let Some(pod) = attributes.stored(BuiltInId::Pods, &key) else {
            return Err(not_found("", "pod", name));
        };
        if meta_text(&pod, "uid") != uid {
            return Ok(Some(format!(
                "the UID in the bound object reference ({uid}) does not match the UID in record. The object might have been deleted and then recreated"
            )));
        }
        if text(&pod, "/spec/nodeName") != self.node {
            return refused("node requested token bound to a pod scheduled on a different node");
        }
        Ok(self.of_audience(&pod))
    }

    fn of_audience(&self, pod: &Value) -> Option<String> {
        let audience = match list(self.object, "/spec/audiences") {
            [] => "",
            [audience] => audience.as_str().unwrap_or_default(),
            _ => return Some("node may only request 0 or 1 audiences".to_owned()),
        };
        let quoted = quote(audience);
        match self.names_audience(pod, audience) {
            Ok(true) => return None,
            Ok(false) => {}
            Err(why) => return Some(format!("error validating audience {quoted}: {why}")),
        }
        let attributes = self.attributes;
        let asked = Asked::resource(VERB, "", audience)
            .in_namespace(attributes.namespace)
            .named(&*attributes.name);
        let user = &attributes.user.name;
        (!attributes.decide(attributes.user, &asked).allowed).then(|| {
            format!(
                "audience {quoted} not found in pod spec volume, {user} is not authorized to request tokens for this audience"
            )
        })
    }

    /// Whether a volume of the Pod has a token for this audience; an error says which objects are missing.
    fn names_audience(&self, pod: &Value, audience: &str) -> std::result::Result<bool, String> {
        let mut missing: Vec<String> = Vec::new();
        for volume in list(pod, "/spec/volumes") {
            let mut tokens = list(volume, "/projected/sources")
                .iter()
                .filter_map(|source| source.get("serviceAccountToken").filter(|token| !token.is_null()));
            if tokens.any(|token| text(token, "/audience") == audience) {
                return Ok(true);
            }
            match self.driver_has_audience(pod, volume, audience) {
                Ok(true) => return Ok(true),
                Ok(false) => {}
                Err(why) if missing.contains(&why) => {}
                Err(why) => missing.push(why),
            }
        }
        match missing.as_slice() {
            [] => Ok(false),
            [only] => Err(only.clone()),
            several => Err(format!("[{}]", several.join(", "))),
        }
    }

    fn driver_has_audience(&self, pod: &Value, volume: &Value, audience: &str) -> std::result::Result<bool, String> {
        let driver = self.driver(pod, volume)?;
        if driver.is_empty() {
            return Ok(false);
        }
        let Some(found) = self.attributes.stored(BuiltInId::CsiDrivers, &driver) else {
            return Err(not_found("storage.k8s.io", "csidriver", &driver).message);
        };
        let mut requests = list(&found, "/spec/tokenRequests").iter();
        Ok(requests.any(|request| text(request, "/audience") == audience))
    }

    /// The name of the driver of a volume; empty if it has none.
    fn driver(&self, pod: &Value, volume: &Value) -> std::result::Result<String, String> {
        let has = |pointer: &str| volume.pointer(pointer).is_some_and(|value| !value.is_null());
        let claim = if has("/ephemeral/volumeClaimTemplate") {
            format!("{}-{}", meta_text(pod, "name"), text(volume, "/name"))
        } else if has("/persistentVolumeClaim") {
            text(volume, "/persistentVolumeClaim/claimName").to_owned()
        } else if has("/csi") {
            return Ok(text(volume, "/csi/driver").to_owned());
        } else {
            return Ok(migrated(volume));
        };
        let key = format!("{}/{claim}", self.attributes.namespace);
        let Some(claim) = self.attributes.stored(BuiltInId::PersistentVolumeClaims, &key) else {
            return Err(not_found("", "persistentvolumeclaim", &claim).message);
        };
        let name = text(&claim, "/spec/volumeName");
        let Some(volume) = self.attributes.stored(BuiltInId::PersistentVolumes, name) else {
            return Err(not_found("", "persistentvolume", name).message);
        };
        match text(&volume, "/spec/csi/driver") {
            "" => Ok(migrated(volume.get("spec").unwrap_or(&Value::Null))),
            driver => Ok(driver.to_owned()),
        }
    }
}

fn migrated(source: &Value) -> String {
    let has = |key: &str| source.get(key).is_some_and(|value| !value.is_null());
    let found = MIGRATED.into_iter().find(|(key, _)| has(key));
    found.map_or("", |(_, driver)| driver).to_owned()
}
