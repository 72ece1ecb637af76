//! `NodeRestriction`: a kubelet writes what is about its own node, and nothing else (A20).

mod node;
mod pod;
mod token;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use kubewright_apimachinery::go::quote;
use kubewright_x509::{COMMON_NAME, pem, request_subject};
use serde_json::Value;

use super::{AdmissionPlugin, Attributes, Operation, Plugin};
use crate::access::User;
use crate::object::meta_text;
use crate::registry::{BuiltInId, Subresource, name_of};
use crate::wire::status::{GroupResource, Result, Status};

pub(super) struct NodeRestriction;

const USER_PREFIX: &str = "system:node:";
const GROUP: &str = "system:nodes";
const LEASE_NAMESPACE: &str = "kube-node-lease";
/// Signers of certificates that are a node's own.
const SIGNERS: [&str; 2] = [
    "kubernetes.io/kubelet-serving",
    "kubernetes.io/kube-apiserver-client-kubelet",
];

impl Plugin for NodeRestriction {
    fn switch(&self) -> Option<AdmissionPlugin> {
        Some(AdmissionPlugin::NodeRestriction)
    }

    fn mutate(&self, attributes: &Attributes<'_>, object: &mut Value, old: Option<&Value>) -> Result<()> {
        let Some(node) = node_of(attributes.user) else {
            return Ok(());
        };
        if attributes.operation == Operation::Connect {
            return Ok(());
        }
        if node.is_empty() {
            let user = quote(&attributes.user.name);
            return Err(attributes.forbidden(&format!("could not determine node from user {user}")));
        }
        let null = Value::Null;
        let write = Write {
            attributes,
            node,
            object,
            old: old.unwrap_or(&null),
        };
        match write.refusal()? {
            Some(why) => Err(attributes.forbidden(&why)),
            None => Ok(()),
        }
    }
}

/// The node that a user is: it may have no name.
fn node_of(user: &User) -> Option<&str> {
    let name = user.name.strip_prefix(USER_PREFIX)?;
    user.groups.iter().any(|group| group == GROUP).then_some(name)
}

/// What a node wants to write.
struct Write<'w> {
    attributes: &'w Attributes<'w>,
    node: &'w str,
    object: &'w Value,
    old: &'w Value,
}

impl Write<'_> {
    /// Why it is refused, if it is.
    fn refusal(&self) -> Result<Option<String>> {
        let (attributes, node) = (self.attributes, self.node);
        let is = |id: BuiltInId| attributes.resource.is(id);
        if is(BuiltInId::Pods) {
            return match attributes.subresource {
                None => self.of_pod(),
                Some(Subresource::Status) => Ok(self.of_pod_status()),
                Some(Subresource::Eviction) => self.of_eviction(),
                other => {
                    let part = quote(name_of(other));
                    Ok(Some(format!(
                        "unexpected pod subresource {part}, only 'status' and 'eviction' are allowed"
                    )))
                }
            };
        }
        if is(BuiltInId::ServiceAccounts) {
            return self.of_token();
        }
        Ok(if is(BuiltInId::Nodes) {
            self.of_node()
        } else if is(BuiltInId::PersistentVolumeClaims) {
            self.of_claim()
        } else if is(BuiltInId::Leases) {
            if attributes.namespace == LEASE_NAMESPACE {
                let why = "can only access node lease with the same name as the requesting node";
                (self.name() != node).then(|| why.to_owned())
            } else {
                let namespace = quote(LEASE_NAMESPACE);
                Some(format!("can only access leases in the {namespace} system namespace"))
            }
        } else if is(BuiltInId::CsiNodes) {
            let why = "can only access CSINode with the same name as the requesting node";
            (self.name() != node).then(|| why.to_owned())
        } else if is(BuiltInId::ResourceSlices) {
            self.of_slice()
        } else if is(BuiltInId::CertificateSigningRequests) {
            self.of_request()
        } else {
            None
        })
    }

    /// The name of the object; that of a new one is its own.
    fn name(&self) -> &str {
        match self.attributes.operation {
            Operation::Create => meta_text(self.object, "name"),
            _ => &self.attributes.name,
        }
    }

    fn of_slice(&self) -> Option<String> {
        let (slice, what) = match self.attributes.operation {
            Operation::Create => (self.object, "create"),
            Operation::Delete => (self.old, "delete"),
            _ => return None,
        };
        let own = slice.pointer("/spec/nodeName").and_then(Value::as_str);
        (own != Some(self.node))
            .then(|| format!("can only {what} ResourceSlice with the same NodeName as the requesting node"))
    }

    fn of_request(&self) -> Option<String> {
        let signer = text(self.object, "/spec/signerName");
        if self.attributes.operation != Operation::Create || !SIGNERS.contains(&signer) {
            return None;
        }
        let request = BASE64_STANDARD
            .decode(text(self.object, "/spec/request"))
            .unwrap_or_default();
        let Some((block, _)) = pem::decode(&request).filter(|(block, _)| block.kind == "CERTIFICATE REQUEST") else {
            return Some("unable to parse csr: PEM block type must be CERTIFICATE REQUEST".to_owned());
        };
        let Some(subject) = request_subject(&block.bytes) else {
            return Some("unable to parse csr: asn1: structure error".to_owned());
        };
        let wanted = format!("{USER_PREFIX}{}", self.node);
        let mut names = subject.iter().filter(|attribute| attribute.kind == COMMON_NAME);
        let name = names.next_back().map_or("", |attribute| attribute.text.as_str());
        (name != wanted).then(|| format!("can only create a node CSR with CN={wanted}"))
    }
}

/// What upstream's caches say of an object that is not there: the resource has its singular name.
fn not_found(group: &str, singular: &str, name: &str) -> Box<Status> {
    let about = GroupResource {
        group,
        resource: singular,
    };
    Status::not_found(about, name)
}

fn text<'v>(value: &'v Value, pointer: &str) -> &'v str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

fn list<'v>(value: &'v Value, pointer: &str) -> &'v [Value] {
    value
        .pointer(pointer)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}
