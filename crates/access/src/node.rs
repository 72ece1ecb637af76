//! What kubelets may do: their own Node, Lease and `CSINode`, and what Pods on their node refer to (upstream's Node authorizer).

use kubewright_apimachinery::fields;

use crate::attributes::Attributes;
use crate::decision::Decision;
use crate::rule::Rule;
use crate::user::User;

const PREFIX: &str = "system:node:";
const NODES: &str = "system:nodes";
const LEASES: &str = "kube-node-lease";

/// A kind of object that a node may have to do with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeRelated {
    /// A Secret that a Pod of the node, or a volume of such a Pod, refers to.
    Secret,
    /// A `ConfigMap` that a Pod of the node refers to.
    ConfigMap,
    /// A claim that a Pod of the node mounts.
    PersistentVolumeClaim,
    /// A volume that is bound to such a claim.
    PersistentVolume,
    /// A claim of devices of a Pod of the node.
    ResourceClaim,
    /// An attachment of a volume to the node.
    VolumeAttachment,
    /// The account of a Pod of the node.
    ServiceAccount,
    /// Devices of the node.
    ResourceSlice,
    /// A Pod of the node.
    Pod,
}

/// The node whose kubelet a user is: `None` for any other user, an empty name where the user does not say which.
pub fn node_of(user: &User) -> Option<&str> {
    user.name.strip_prefix(PREFIX).filter(|_| user.is_in(NODES))
}

/// Whether a kubelet may do what is asked. `rules` are those of all kubelets alike; `is_related` says whether there is a way from an object
/// (its kind, namespace and name) to the node.
///
/// A decision that does not allow leaves it to other authorizers.
pub fn decide_for_node(
    user: &User,
    asked: &Attributes<'_>,
    rules: &[Rule],
    is_related: &dyn Fn(&str, NodeRelated, &str, &str) -> bool,
) -> Decision {
    let Some(node) = node_of(user) else {
        return Decision::DENIED;
    };
    if node.is_empty() {
        let user = kubewright_apimachinery::go::quote(&user.name);
        return Decision::reviewed(false, &format!("unknown node for user {user}"));
    }
    let request = Request {
        node,
        asked,
        is_related,
    };
    let judged = match (&*asked.group, &*asked.resource) {
        _ if !asked.is_resource => None,
        ("", "secrets") => Some(request.read(NodeRelated::Secret)),
        ("", "configmaps") => Some(request.read(NodeRelated::ConfigMap)),
        ("", "persistentvolumeclaims") if asked.subresource == "status" => Some(request.claim_status()),
        ("", "persistentvolumeclaims") => Some(request.get(NodeRelated::PersistentVolumeClaim)),
        ("", "persistentvolumes") => Some(request.get(NodeRelated::PersistentVolume)),
        ("resource.k8s.io", "resourceclaims") => Some(request.get(NodeRelated::ResourceClaim)),
        ("storage.k8s.io", "volumeattachments") => Some(request.get(NodeRelated::VolumeAttachment)),
        ("", "serviceaccounts") => Some(request.service_account()),
        ("coordination.k8s.io", "leases") => Some(request.lease()),
        ("storage.k8s.io", "csinodes") => Some(request.csi_node()),
        ("resource.k8s.io", "resourceslices") => Some(request.resource_slice()),
        ("", "nodes") => Some(request.own_node()),
        ("", "pods") => Some(request.pod()),
        // Upstream has them behind a feature gate that is off.
        ("certificates.k8s.io", "podcertificaterequests") => Some(Err(String::new())),
        _ => None,
    };
    match judged {
        Some(Ok(())) => Decision::ALLOWED,
        Some(Err(why)) => Decision::reviewed(false, &why),
        None if rules.iter().any(|rule| rule.allows(asked)) => Decision::ALLOWED,
        None => Decision::DENIED,
    }
}

struct Request<'a> {
    node: &'a str,
    asked: &'a Attributes<'a>,
    is_related: &'a dyn Fn(&str, NodeRelated, &str, &str) -> bool,
}

/// Allowed, or why not; upstream does not always say.
type Judged = Result<(), String>;

impl Request<'_> {
    fn related(&self, kind: NodeRelated) -> Judged {
        if self.asked.name.is_empty() {
            return Err("No Object name found".to_owned());
        }
        if (self.is_related)(self.node, kind, &self.asked.namespace, &self.asked.name) {
            return Ok(());
        }
        Err(format!(
            "no relationship found between node '{}' and this object",
            self.node
        ))
    }

    fn get(&self, kind: NodeRelated) -> Judged {
        if self.asked.verb != "get" {
            return Err("can only get individual resources of this type".to_owned());
        }
        if !self.asked.subresource.is_empty() {
            return Err("cannot get subresource".to_owned());
        }
        self.related(kind)
    }

    fn read(&self, kind: NodeRelated) -> Judged {
        if !self.is_verb(&["get", "list", "watch"]) {
            return Err("can only read resources of this type".to_owned());
        }
        if !self.asked.subresource.is_empty() {
            return Err("cannot read subresource".to_owned());
        }
        if self.asked.namespace.is_empty() {
            return Err("can only read namespaced object of this type".to_owned());
        }
        self.related(kind)
    }

    fn claim_status(&self) -> Judged {
        if !self.is_verb(&["update", "patch"]) {
            return Err("can only get/update/patch this type".to_owned());
        }
        self.related(NodeRelated::PersistentVolumeClaim)
    }

    fn service_account(&self) -> Judged {
        if self.asked.verb == "get" && self.asked.subresource.is_empty() {
            return self.read(NodeRelated::ServiceAccount);
        }
        if self.asked.verb != "create" || self.asked.name.is_empty() {
            return Err("can only create tokens for individual service accounts".to_owned());
        }
        if self.asked.subresource != "token" {
            return Err("can only create token subresource of serviceaccount".to_owned());
        }
        self.related(NodeRelated::ServiceAccount)
    }

    fn lease(&self) -> Judged {
        if !self.is_verb(&["get", "create", "update", "patch", "delete"]) {
            return Err("can only get, create, update, patch, or delete a node lease".to_owned());
        }
        if self.asked.namespace != LEASES {
            return Err(format!("can only access leases in the \"{LEASES}\" system namespace"));
        }
        self.own_unless_created("can only access node lease with the same name as the requesting node")
    }

    fn csi_node(&self) -> Judged {
        if !self.is_verb(&["get", "create", "update", "patch", "delete"]) {
            return Err("can only get, create, update, patch, or delete a CSINode".to_owned());
        }
        if !self.asked.subresource.is_empty() {
            return Err("cannot authorize CSINode subresources".to_owned());
        }
        self.own_unless_created("can only access CSINode with the same name as the requesting node")
    }

    /// The name of what is created is not known yet: admission looks at it.
    fn own_unless_created(&self, why: &str) -> Judged {
        if self.asked.verb == "create" || self.asked.name == self.node {
            Ok(())
        } else {
            Err(why.to_owned())
        }
    }

    fn resource_slice(&self) -> Judged {
        if !self.asked.subresource.is_empty() {
            return Err("cannot authorize ResourceSlice subresources".to_owned());
        }
        match &*self.asked.verb {
            "create" => Ok(()),
            "get" | "update" | "patch" | "delete" => self.related(NodeRelated::ResourceSlice),
            "watch" | "list" | "deletecollection" if self.selects_own() => Ok(()),
            "watch" | "list" | "deletecollection" => {
                let why = "can only list/watch/deletecollection resourceslices with nodeName field selector";
                Err(why.to_owned())
            }
            _ => Err(
                "only the following verbs are allowed for a ResourceSlice: get, watch, list, create, update, patch, \
                      delete, deletecollection"
                    .to_owned(),
            ),
        }
    }

    fn own_node(&self) -> Judged {
        let node = self.node;
        match (&*self.asked.subresource, &*self.asked.verb) {
            ("", "create" | "update" | "patch") | ("status", "update" | "patch") => Ok(()),
            ("", "get" | "list" | "watch") => match &*self.asked.name {
                name if name == node => Ok(()),
                "" => Err(format!("node '{node}' cannot read all nodes, only its own Node object")),
                other => Err(format!("node '{node}' cannot read '{other}', only its own Node object")),
            },
            _ => Err(String::new()),
        }
    }

    fn pod(&self) -> Judged {
        match (&*self.asked.subresource, &*self.asked.verb) {
            ("", "get") => self.get(NodeRelated::Pod),
            ("", "list" | "watch") if self.selects_own() => Ok(()),
            ("", "list" | "watch") if !self.asked.name.is_empty() => self.related(NodeRelated::Pod),
            ("", "list" | "watch") => Err("can only list/watch pods with spec.nodeName field selector".to_owned()),
            ("", "create" | "delete") | ("status", "update" | "patch") | ("eviction", "create") => Ok(()),
            _ => Err(String::new()),
        }
    }

    fn is_verb(&self, verbs: &[&str]) -> bool {
        verbs.contains(&&*self.asked.verb)
    }

    /// Whether the field selector leaves only what is on this node.
    fn selects_own(&self) -> bool {
        let requirements = fields::parse(&self.asked.field_selector).unwrap_or_default();
        requirements
            .iter()
            .any(|wanted| wanted.field == "spec.nodeName" && wanted.is_equal && wanted.value == self.node)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kubelet(name: &str) -> User {
        User::new(format!("{PREFIX}{name}"), [NODES])
    }

    fn decide(asked: &Attributes<'_>) -> Result<(), String> {
        let rules = [Rule::resources([""], ["services"], ["list"])];
        let related = |node: &str, kind: NodeRelated, namespace: &str, name: &str| {
            node == "n1" && kind == NodeRelated::Secret && namespace == "shop" && name == "mounted"
        };
        let decision = decide_for_node(&kubelet("n1"), asked, &rules, &related);
        if decision.allowed {
            Ok(())
        } else {
            Err(decision.reason.to_string())
        }
    }

    #[test]
    fn only_members_of_the_group_with_the_prefix_are_kubelets() {
        assert_eq!(node_of(&kubelet("n1")), Some("n1"));
        assert_eq!(node_of(&User::new("system:node:n1", ["staff"])), None);
        assert_eq!(node_of(&User::new("n1", [NODES])), None);
        let nameless = decide_for_node(&kubelet(""), &Attributes::path("get", "/"), &[], &|_, _, _, _| true);
        assert_eq!(nameless.reason.to_string(), "unknown node for user \"system:node:\"");
    }

    #[test]
    fn a_kubelet_reads_the_secrets_of_its_pods() {
        let secret = |verb: &'static str, name: &'static str| {
            Attributes::resource(verb, "", "secrets")
                .in_namespace("shop")
                .named(name)
        };
        assert_eq!(decide(&secret("get", "mounted")), Ok(()));
        assert_eq!(decide(&secret("watch", "mounted")), Ok(()));
        assert_eq!(
            decide(&secret("get", "other")),
            Err("no relationship found between node 'n1' and this object".to_owned())
        );
        assert_eq!(decide(&secret("list", "")), Err("No Object name found".to_owned()));
        assert_eq!(
            decide(&secret("delete", "mounted")),
            Err("can only read resources of this type".to_owned())
        );
    }

    #[test]
    fn a_kubelet_has_its_own_node_and_lease() {
        let node = |name: &'static str| Attributes::resource("get", "", "nodes").named(name);
        assert_eq!(decide(&node("n1")), Ok(()));
        assert_eq!(
            decide(&node("n2")),
            Err("node 'n1' cannot read 'n2', only its own Node object".to_owned())
        );
        let lease = |namespace: &'static str| {
            Attributes::resource("update", "coordination.k8s.io", "leases")
                .in_namespace(namespace)
                .named("n1")
        };
        assert_eq!(decide(&lease(LEASES)), Ok(()));
        assert_eq!(
            decide(&lease("shop")),
            Err("can only access leases in the \"kube-node-lease\" system namespace".to_owned())
        );
    }

    #[test]
    fn pods_are_listed_by_node_and_everything_else_by_rules() {
        let mut pods = Attributes::resource("list", "", "pods");
        assert!(decide(&pods).is_err());
        pods.field_selector = "spec.nodeName=n2".into();
        assert!(decide(&pods).is_err());
        pods.field_selector = "spec.nodeName=n1".into();
        assert_eq!(decide(&pods), Ok(()));
        assert_eq!(decide(&Attributes::resource("list", "", "services")), Ok(()));
        assert_eq!(
            decide(&Attributes::resource("delete", "", "services")),
            Err(String::new())
        );
    }
}
