//! The objects of a cluster at one revision, followed from write to write.

use std::collections::BTreeMap;
use std::sync::Arc;

use kubewright_apiserver::{ApiServer, StoredChange, StoredObject};
use kubewright_runtime::object::{Kind, Object};
use serde_json::Value;

use super::plan::ObjectName;

/// What changes by itself all the time and says nothing about an operator.
pub(super) fn is_followed(group: &str, resource: &str) -> bool {
    resource != "events" && !(group == "coordination.k8s.io" && resource == "leases")
}

/// The objects of a cluster as they were at one revision, for an invariant. Events and leases are left out, and so is what every
/// cluster has from its beginning.
#[derive(Clone, Debug, Default)]
pub struct Cluster {
    namespace: String,
    revision: u64,
    objects: BTreeMap<ObjectName, StoredObject>,
    /// What there was before the first step.
    base: Arc<BTreeMap<ObjectName, StoredObject>>,
}

/// One write to a cluster.
#[derive(Clone, Debug)]
pub(super) struct Followed {
    pub(super) name: ObjectName,
    pub(super) before: Option<StoredObject>,
    /// `None`: it is gone.
    pub(super) after: Option<StoredObject>,
}

impl Cluster {
    pub(super) fn new(namespace: &str) -> Self {
        Cluster {
            namespace: namespace.to_owned(),
            ..Cluster::default()
        }
    }

    /// All objects of a kind, in all namespaces. What cannot be read as this type is left out.
    pub fn list<K: Object>(&self) -> Vec<K> {
        let kind = Kind::of::<K>();
        let resource = resource_name(kind.group(), kind.plural());
        let found = self.objects.iter().filter(|(name, _)| name.resource == resource);
        found.filter_map(|(_, object)| K::deserialize(&**object).ok()).collect()
    }

    /// The object of a kind with this name: in the test's namespace, or without a namespace.
    pub fn get<K: Object>(&self, name: &str) -> Option<K> {
        let kind = Kind::of::<K>();
        let name = ObjectName {
            resource: resource_name(kind.group(), kind.plural()),
            name: name.to_owned(),
        };
        K::deserialize(&**self.objects.get(&name)?).ok()
    }

    /// The revision of the newest write.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// What is there now was there before everything.
    pub(super) fn set_base(&mut self) {
        self.base = Arc::new(self.objects.clone());
    }

    /// Objects that were written since the first step began, with what they were before it.
    pub(super) fn changed(&self) -> impl Iterator<Item = (&ObjectName, &Value, Option<&Value>)> {
        self.objects.iter().filter_map(|(name, object)| {
            let before = self.base.get(name);
            let is_unchanged = before.is_some_and(|before| before.is_same(object));
            (!is_unchanged).then_some((name, &**object, before.map(|before| &**before)))
        })
    }

    /// What was there before the first step, and is gone.
    pub(super) fn gone(&self) -> impl Iterator<Item = &ObjectName> {
        self.base.keys().filter(|name| !self.objects.contains_key(*name))
    }

    pub(super) fn objects(&self) -> &BTreeMap<ObjectName, StoredObject> {
        &self.objects
    }

    /// Goes on to what a server has now, and shows every revision on the way.
    pub(super) fn follow(&mut self, server: &ApiServer, mut look: impl FnMut(&Cluster, &Followed)) {
        for change in server.history(self.revision, is_followed) {
            let followed = self.apply(change);
            look(self, &followed);
        }
    }

    fn apply(&mut self, change: StoredChange) -> Followed {
        self.revision = change.revision;
        let own = change.object.name();
        let name = match change.object.namespace() {
            Some(namespace) if namespace != self.namespace => format!("{namespace}:{own}"),
            _ => own.to_owned(),
        };
        let name = ObjectName {
            resource: resource_name(&change.group, &change.resource),
            name,
        };
        let after = (!change.deleted).then_some(change.object);
        let before = match &after {
            Some(object) => self.objects.insert(name.clone(), object.clone()),
            None => self.objects.remove(&name),
        };
        Followed { name, before, after }
    }
}

/// `deployments.apps`
fn resource_name(group: &str, plural: &str) -> String {
    if group.is_empty() {
        plural.to_owned()
    } else {
        format!("{plural}.{group}")
    }
}
