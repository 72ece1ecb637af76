//! What an installation consists of, kept in the cluster: an `ApplySet` (KEP-3659). Each member carries the label of the set; a
//! `ConfigMap` beside the manager, the parent, says of which kinds and in which namespaces members are to be looked for.
//! Definitions and namespaces are never members: with them users' data would go.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use kubewright_runtime::object::Kind;
use ring::digest::{SHA256, digest};
use serde_json::{Map, Value, json};

use super::delete::DeletionTarget;
use super::{Cluster, Error, Reference, prepare};

const ID: &str = "applyset.kubernetes.io/id";
const PART_OF: &str = "applyset.kubernetes.io/part-of";
const TOOLING: &str = "applyset.kubernetes.io/tooling";
const KINDS: &str = "applyset.kubernetes.io/contains-group-kinds";
const NAMESPACES: &str = "applyset.kubernetes.io/additional-namespaces";
const TOOL: &str = "kubewright";

/// The inventory of one installation.
#[derive(Clone, Debug)]
pub struct Inventory {
    parent: Reference,
    id: String,
}

/// Where members are to be looked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Contents {
    /// Kinds as `Deployment.apps` or `Service`.
    kinds: BTreeSet<String>,
    namespaces: BTreeSet<String>,
}

impl Inventory {
    /// That of the installation whose objects' names begin with a prefix, in a namespace.
    pub fn new(namespace: &str, prefix: &str) -> Self {
        let name = format!("{prefix}inventory");
        let unencoded = format!("{name}.{namespace}.ConfigMap.");
        let hash = URL_SAFE_NO_PAD.encode(digest(&SHA256, unencoded.as_bytes()));
        Inventory {
            parent: Reference::new("v1", "ConfigMap", Some(namespace), &name),
            // A label's value begins and ends with a letter or digit, which a hash may not.
            id: format!("applyset-{hash}-v1"),
        }
    }

    /// The parent.
    pub fn parent(&self) -> &Reference {
        &self.parent
    }

    /// The object as a member of this set.
    pub fn labelled(&self, object: &Value) -> Value {
        let mut object = object.clone();
        if let Some(fields) = object.as_object_mut() {
            let metadata = fields.entry("metadata").or_insert_with(|| Value::Object(Map::new()));
            if !metadata["labels"].is_object() {
                metadata["labels"] = Value::Object(Map::new());
            }
            metadata["labels"][PART_OF] = self.id.as_str().into();
        }
        object
    }

    /// Whether an object was a member of another set.
    pub fn is_anothers(&self, object: &Value) -> bool {
        let set = object["metadata"]["labels"][PART_OF].as_str();
        set.is_some_and(|set| set != self.id)
    }

    /// Where the members of an earlier installation are; `None` if there was none.
    pub async fn read(&self, cluster: &Cluster) -> Result<Option<Contents>, Error> {
        let Some(parent) = cluster.get(&self.parent).await? else {
            return Ok(None);
        };
        let annotations = &parent["metadata"]["annotations"];
        let tooling = annotations[TOOLING].as_str().unwrap_or("nobody it names");
        let tool = tooling.rsplit_once('/').map_or(tooling, |(tool, _)| tool);
        if tool != TOOL {
            return Err(Error::ForeignInventory {
                tooling: tooling.to_owned(),
            });
        }
        let words = |name: &str| -> BTreeSet<String> {
            let text = annotations[name].as_str().unwrap_or_default();
            let words = text.split(',').map(str::trim).filter(|word| !word.is_empty());
            words.map(str::to_owned).collect()
        };
        let mut namespaces = words(NAMESPACES);
        namespaces.extend(self.parent.namespace.clone());
        Ok(Some(Contents {
            kinds: words(KINDS),
            namespaces,
        }))
    }

    /// Writes down where members are to be looked for.
    pub async fn write(&self, cluster: &Cluster, contents: &Contents) -> Result<(), Error> {
        let parent = self.object(contents);
        cluster.apply(&self.parent, &parent, false).await.map(drop)
    }

    fn object(&self, contents: &Contents) -> Value {
        let joined = |words: &BTreeSet<String>| words.iter().cloned().collect::<Vec<_>>().join(",");
        let home = self.parent.namespace.as_deref().unwrap_or_default();
        let mut others = contents.namespaces.clone();
        others.remove(home);
        json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {
                "name": self.parent.name,
                "namespace": home,
                "labels": { ID: self.id, "app.kubernetes.io/managed-by": TOOL },
                "annotations": {
                    TOOLING: format!("{TOOL}/v{}", env!("CARGO_PKG_VERSION")),
                    KINDS: joined(&contents.kinds),
                    NAMESPACES: joined(&others),
                },
            },
        })
    }

    /// The members that are in the cluster.
    pub async fn members(&self, cluster: &Cluster, contents: &Contents) -> Result<Vec<DeletionTarget>, Error> {
        let selector = format!("{PART_OF}={}", self.id);
        let home = self.parent.namespace.clone().unwrap_or_default();
        let mut members = Vec::new();
        for name in &contents.kinds {
            let (kind, group) = name.split_once('.').unwrap_or((name, ""));
            // A kind that the cluster does not serve any more has no objects.
            let Some(kind) = cluster.preferred(group, kind).await? else {
                continue;
            };
            for namespace in places(&kind, &home, &contents.namespaces) {
                let objects = cluster.list(&kind, namespace, &selector).await?;
                let objects = objects.iter().filter_map(DeletionTarget::of);
                members.extend(objects.filter(|target| is_member_kind(&target.reference)));
            }
        }
        Ok(members)
    }
}

/// Whether an object is in some set.
pub fn is_member(live: &Value) -> bool {
    live["metadata"]["labels"][PART_OF].is_string()
}

/// Leaves an object in the set that it is in, and its webhooks at the Service of that installation, when somebody else than its
/// deploy applies it.
pub(crate) fn keep_membership(live: &Value, object: &mut Value) {
    keep_conversion(live, object);
    let set = &live["metadata"]["labels"][PART_OF];
    let Some(metadata) = object.get_mut("metadata").filter(|_| set.is_string()) else {
        return;
    };
    if !metadata["labels"].is_object() {
        metadata["labels"] = Value::Object(Map::new());
    }
    metadata["labels"][PART_OF] = set.clone();
    let webhooks = object.get_mut("webhooks").and_then(Value::as_array_mut);
    for webhook in webhooks.into_iter().flatten() {
        let name = webhook["name"].as_str().unwrap_or_default().to_owned();
        if let Some(client) = webhook.get_mut("clientConfig") {
            keep_service(prepare::service(live, &name), client);
        }
    }
}

/// Definitions are in no set, but their objects are converted by the manager that is deployed.
fn keep_conversion(live: &Value, object: &mut Value) {
    let client = object.pointer_mut("/spec/conversion/webhook/clientConfig");
    if let Some(client) = client {
        keep_service(prepare::service(live, prepare::CONVERSION), client);
    }
}

fn keep_service(service: Option<Value>, client: &mut Value) {
    if let (Some(service), true) = (service, client["service"].is_object()) {
        client["service"]["namespace"] = service["namespace"].clone();
        client["service"]["name"] = service["name"].clone();
    }
}

/// Where objects of a kind may be: everywhere means once without a namespace.
fn places<'a>(kind: &Kind, home: &'a str, others: &'a BTreeSet<String>) -> Vec<Option<&'a str>> {
    if !kind.is_namespaced() {
        return vec![None];
    }
    let others = others.iter().map(String::as_str).filter(|other| *other != home);
    std::iter::once(home).chain(others).map(Some).collect()
}

/// Whether objects of a kind are ever members.
pub fn is_member_kind(reference: &Reference) -> bool {
    !reference.is_definition() && !reference.is_namespace()
}

impl Contents {
    /// Where these objects are.
    pub fn of<'a>(objects: impl IntoIterator<Item = &'a Reference>) -> Self {
        let mut contents = Contents::default();
        for reference in objects.into_iter().filter(|reference| is_member_kind(reference)) {
            contents.kinds.insert(match reference.group_version().0 {
                "" => reference.kind.clone(),
                group => format!("{}.{group}", reference.kind),
            });
            contents.namespaces.extend(reference.namespace.clone());
        }
        contents
    }

    /// Where either says.
    pub fn with(&self, other: &Contents) -> Self {
        Contents {
            kinds: self.kinds.union(&other.kinds).cloned().collect(),
            namespaces: self.namespaces.union(&other.namespaces).cloned().collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_is_the_one_kubectl_computes() {
        // base64url(sha256("shop-inventory.shop-system.ConfigMap.")), by kubectl's rule.
        let inventory = Inventory::new("shop-system", "shop-");
        assert_eq!(inventory.parent().to_string(), "configmap/shop-inventory");
        assert_eq!(inventory.id, "applyset-yTC91n__tXJ8JdmZ6GEjdA_Cx_TWbgw0FQj_t_x6c8M-v1");
    }

    #[test]
    fn the_parent_names_kinds_and_other_namespaces() {
        let inventory = Inventory::new("shop-system", "shop-");
        let references = [
            Reference::new("apps/v1", "Deployment", Some("shop-system"), "a"),
            Reference::new("v1", "Service", Some("monitoring"), "b"),
            Reference::new("v1", "Namespace", None, "shop-system"),
            Reference::new("apiextensions.k8s.io/v1", "CustomResourceDefinition", None, "c.d.e"),
        ];
        let parent = inventory.object(&Contents::of(&references));
        let annotations = &parent["metadata"]["annotations"];
        assert_eq!(annotations[KINDS], "Deployment.apps,Service");
        assert_eq!(annotations[NAMESPACES], "monitoring");
    }

    #[test]
    fn a_member_carries_the_label_beside_its_own() {
        let inventory = Inventory::new("shop-system", "shop-");
        let object = json!({ "kind": "A", "metadata": { "labels": { "a": "b" } } });
        let labels = inventory.labelled(&object)["metadata"]["labels"].clone();
        assert_eq!(
            (labels["a"].as_str(), labels[PART_OF].as_str()),
            (Some("b"), Some(&*inventory.id))
        );
        assert!(inventory.is_anothers(&json!({ "metadata": { "labels": { PART_OF: "applyset-x-v1" } } })));
        assert!(!inventory.is_anothers(&inventory.labelled(&object)) && !inventory.is_anothers(&object));
    }
    #[test]
    fn what_is_applied_by_others_stays_in_its_set_and_at_its_service() {
        let service = |namespace: &str| json!({ "service": { "namespace": namespace, "name": "s", "path": "/p" } });
        let redirected = json!({ "webhooks": { "b": { "clientConfig": service("harbour") } } }).to_string();
        let live = json!({
            "metadata": {
                "labels": { PART_OF: "applyset-x-v1" },
                "annotations": { "kubewright.dev/local-run": redirected },
            },
            "webhooks": [
                { "name": "a", "clientConfig": service("harbour") },
                { "name": "b", "clientConfig": { "url": "https://me:9443/p" } },
            ],
        });
        let webhook = |name: &str, namespace: &str| json!({ "name": name, "clientConfig": service(namespace) });
        let mut object = json!({
            "metadata": { "name": "w" },
            "webhooks": [webhook("a", "shop-system"), webhook("b", "shop-system"), webhook("c", "shop-system")],
        });
        keep_membership(&live, &mut object);
        assert_eq!(object["metadata"]["labels"][PART_OF], "applyset-x-v1");
        let kept = [
            webhook("a", "harbour"),
            webhook("b", "harbour"),
            webhook("c", "shop-system"),
        ];
        assert_eq!(object["webhooks"], json!(kept));

        let definition = |namespace: &str| json!({ "spec": { "conversion": { "webhook": { "clientConfig": service(namespace) } } } });
        let mut object = definition("shop-system");
        keep_membership(&definition("harbour"), &mut object);
        assert_eq!(object, definition("harbour"));
        let mut plain = json!({ "spec": {} });
        keep_membership(&definition("harbour"), &mut plain);
        assert_eq!(plain, json!({ "spec": {} }));
    }
}
