//! Objects by which a kube-apiserver tells of itself: since when it tracks tokens that live in Secrets, and the Lease of its
//! identity. Both are there from the beginning. The Lease, and what says where the server is reached (Service `kubernetes` with
//! its Endpoints), are made again when somebody deletes them; upstream leaves the other deleted for half an hour.

use jiff::Timestamp;
use kubewright_system::clock;
use ring::digest::{SHA256, digest};
use serde_json::{Value, json};

use crate::object::{self, meta_text, set_meta};
use crate::registry::{BuiltInId, Resource};
use crate::server::{ApiServer, Server};
use crate::write::managed_fields::FieldWriter;

const NAMESPACE: &str = "kube-system";
const TOKEN_TRACKING: &str = "kube-apiserver-legacy-service-account-token-tracking";
/// The host that the identity is of: the same on every machine, so that a seed repeats a run anywhere.
const HOST: &str = "kubewright";
const LEASE_SECONDS: u32 = 3600;

/// The objects of a new cluster, each with its resource.
pub(super) fn initial(now: Timestamp, mut uid: impl FnMut() -> String) -> [(&'static Resource, Value); 2] {
    [
        (BuiltInId::ConfigMaps.resource(), token_tracking(now, uid())),
        (BuiltInId::Leases.resource(), identity_lease(now, uid(), &uid())),
    ]
}

/// Since when uses of tokens in Secrets are noted: those without a note have not been used since.
fn token_tracking(now: Timestamp, uid: String) -> Value {
    let data = json!({ "since": now.strftime("%Y-%m-%d").to_string() });
    let object = json!({ "apiVersion": "v1", "kind": "ConfigMap", "data": data });
    finished(BuiltInId::ConfigMaps.resource(), object, TOKEN_TRACKING, now, uid)
}

/// Says that this server is there. It is not renewed: an idle server does nothing, and nothing reads when it last did.
fn identity_lease(now: Timestamp, uid: String, holder: &str) -> Value {
    let identity = identity();
    let object = json!({
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {
            "labels": { "apiserver.kubernetes.io/identity": "kube-apiserver", "kubernetes.io/hostname": HOST },
        },
        "spec": {
            "holderIdentity": format!("{identity}_{holder}"),
            "leaseDurationSeconds": LEASE_SECONDS,
            "renewTime": now.strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string(),
        },
    });
    finished(BuiltInId::Leases.resource(), object, &identity, now, uid)
}

/// The name of a server: a hash of its host's.
fn identity() -> String {
    const ALPHABET: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
    let hash = digest(&SHA256, HOST.as_bytes());
    let mut name = String::from("apiserver-");
    let bits: u128 = hash.as_ref()[..16]
        .iter()
        .fold(0, |bits, byte| bits << 8 | u128::from(*byte));
    for at in 0..26 {
        // 128 bits are 25 groups of five and three bits that are left.
        let group = if at < 25 { bits >> (123 - 5 * at) } else { bits << 2 };
        name.push(char::from(ALPHABET[(group & 31) as usize]));
    }
    name
}

fn finished(resource: &Resource, mut object: Value, name: &str, now: Timestamp, uid: String) -> Value {
    let stamp = clock::stamp(now);
    set_meta(&mut object, "name", name);
    set_meta(&mut object, "namespace", NAMESPACE);
    set_meta(&mut object, "uid", uid);
    let writer = FieldWriter {
        resource,
        subresource: None,
        manager: "kube-apiserver",
        time: &stamp,
    };
    let mut object = writer.update_built_in(None, object);
    set_meta(&mut object, "creationTimestamp", stamp.as_str());
    object
}

impl Server {
    /// Makes an object of this server's own again that was deleted.
    pub(crate) fn restore_own(&self, resource: &Resource, deleted: &Value) {
        let (namespace, name) = (meta_text(deleted, "namespace"), meta_text(deleted, "name"));
        let now = self.clock.now();
        let uid = || self.random.uuid();
        let object = match resource.id() {
            Some(BuiltInId::Leases) if namespace == NAMESPACE && name == identity() => {
                identity_lease(now, uid(), &uid())
            }
            Some(BuiltInId::Services | BuiltInId::Endpoints | BuiltInId::EndpointSlices)
                if (namespace, name) == ("default", "kubernetes") =>
            {
                return self.publish_again();
            }
            _ => return,
        };
        let key = object::key(namespace, name);
        // Somebody else may have made one meanwhile, which then counts.
        let _ = self
            .store
            .create(resource.table, &key, object::to_built_in_draft(resource, &object));
    }

    /// Makes what says where this server is reached again.
    fn publish_again(&self) {
        let Some(server) = self.me.upgrade() else {
            return;
        };
        tokio::spawn(async move { ApiServer { server }.publish_again().await });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_identity_has_the_form_of_upstreams() {
        let identity = identity();
        assert_eq!(identity.len(), "apiserver-wlv32tlttr4jl3gtroqexyxapa".len());
        // The last character has three bits of the hash.
        assert!(
            identity.ends_with(['a', 'e', 'i', 'm', 'q', 'u', 'y', '4']),
            "{identity}"
        );
    }
}
