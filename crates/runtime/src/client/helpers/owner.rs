//! Owner references: who is deleted with whom, and who is woken by whom.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::Resource;

use crate::object::{Kind, Object};

/// Why an object cannot own another.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OwnerError {
    /// Owner and object are in different namespaces.
    #[error("{owner} in namespace {owner_namespace} cannot own an object in namespace {namespace}")]
    CrossNamespace {
        /// The owner, as `Deployment.apps web`.
        owner: String,
        /// Where the owner is.
        owner_namespace: String,
        /// Where the object is.
        namespace: String,
    },
    /// A namespaced owner of a cluster-scoped object: the garbage collector would delete the object.
    #[error("{owner} in namespace {owner_namespace} cannot own a cluster-scoped object")]
    ClusterScopedObject {
        /// The owner.
        owner: String,
        /// Where the owner is.
        owner_namespace: String,
    },
    /// The object has another controller.
    #[error("{name} is already controlled by {controller}")]
    AlreadyControlled {
        /// The object.
        name: String,
        /// Its controller, as `Deployment web`.
        controller: String,
    },
    /// The owner has no uid or no name: it was not read from the cluster.
    #[error("{owner} has no uid; an owner must be read from the cluster")]
    NoUid {
        /// The owner.
        owner: String,
    },
}

/// Makes `owner` the controller of `object`: the object is deleted with it, its changes wake it, and it is the only one.
///
/// ```
/// use k8s_openapi::api::apps::v1::Deployment;
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kubewright_runtime::client::helpers::{is_controlled_by, set_controller_reference};
///
/// let mut owner = Deployment::default();
/// owner.metadata.name = Some("web".to_owned());
/// owner.metadata.namespace = Some("shop".to_owned());
/// owner.metadata.uid = Some("8c5d".to_owned());
/// let mut settings = ConfigMap::default();
/// settings.metadata.namespace = Some("shop".to_owned());
///
/// set_controller_reference(&owner, &mut settings).unwrap();
/// assert!(is_controlled_by(&settings, &owner));
///
/// settings.metadata.namespace = Some("other".to_owned());
/// assert!(set_controller_reference(&owner, &mut settings).is_err());
/// ```
pub fn set_controller_reference<O: Object, K: Resource>(owner: &O, object: &mut K) -> Result<(), OwnerError> {
    let mut reference = reference(owner, object)?;
    reference.controller = Some(true);
    reference.block_owner_deletion = Some(true);
    let references = object.meta().owner_references.as_deref().unwrap_or_default();
    let other = references
        .iter()
        .find(|existing| existing.controller == Some(true) && !is_same_owner(existing, &reference));
    if let Some(other) = other {
        return Err(OwnerError::AlreadyControlled {
            name: object.meta().name.clone().unwrap_or_default(),
            controller: format!("{} {}", other.kind, other.name),
        });
    }
    upsert(object, reference);
    Ok(())
}

/// Makes `owner` one of the owners of `object`: the object is deleted when the last of them is.
pub fn set_owner_reference<O: Object, K: Resource>(owner: &O, object: &mut K) -> Result<(), OwnerError> {
    let reference = reference(owner, object)?;
    upsert(object, reference);
    Ok(())
}

/// Removes `owner` from the owners of `object`. Returns whether it was one.
pub fn remove_owner_reference<O: Object, K: Resource>(owner: &O, object: &mut K) -> bool {
    let wanted = identity(owner);
    let Some(references) = object.meta_mut().owner_references.as_mut() else {
        return false;
    };
    let before = references.len();
    references.retain(|existing| !is_same_owner(existing, &wanted));
    before != references.len()
}

/// Whether `owner` is one of the owners of `object`.
pub fn has_owner_reference<O: Object, K: Resource>(owner: &O, object: &K) -> bool {
    let wanted = identity(owner);
    let references = object.meta().owner_references.as_deref().unwrap_or_default();
    references.iter().any(|existing| is_same_owner(existing, &wanted))
}

/// Whether `owner`, by its uid, is the controller of `object`.
pub fn is_controlled_by<O: Object, K: Resource>(object: &K, owner: &O) -> bool {
    let references = object.meta().owner_references.as_deref().unwrap_or_default();
    let controller = references.iter().find(|existing| existing.controller == Some(true));
    controller.is_some_and(|controller| Some(&controller.uid) == owner.meta().uid.as_ref())
}

fn identity<O: Object>(owner: &O) -> OwnerReference {
    let kind = Kind::of::<O>();
    OwnerReference {
        api_version: kind.api_version(),
        kind: kind.kind().to_owned(),
        name: owner.meta().name.clone().unwrap_or_default(),
        uid: owner.meta().uid.clone().unwrap_or_default(),
        ..OwnerReference::default()
    }
}

fn reference<O: Object, K: Resource>(owner: &O, object: &K) -> Result<OwnerReference, OwnerError> {
    let reference = identity(owner);
    let name = format!("{} {}", Kind::of::<O>(), reference.name);
    if reference.uid.is_empty() || reference.name.is_empty() {
        return Err(OwnerError::NoUid { owner: name });
    }
    let namespace = |meta: &k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta| {
        meta.namespace.clone().filter(|namespace| !namespace.is_empty())
    };
    match (namespace(owner.meta()), namespace(object.meta())) {
        (Some(owner_namespace), None) => Err(OwnerError::ClusterScopedObject {
            owner: name,
            owner_namespace,
        }),
        (Some(owner_namespace), Some(namespace)) if owner_namespace != namespace => Err(OwnerError::CrossNamespace {
            owner: name,
            owner_namespace,
            namespace,
        }),
        _ => Ok(reference),
    }
}

/// Owners are the same whatever version of their kind was used, and also if one was recreated.
fn is_same_owner(left: &OwnerReference, right: &OwnerReference) -> bool {
    let group = |reference: &OwnerReference| {
        let group = reference.api_version.rsplit_once('/').map_or("", |(group, _)| group);
        group.to_owned()
    };
    left.kind == right.kind && left.name == right.name && group(left) == group(right)
}

fn upsert<K: Resource>(object: &mut K, reference: OwnerReference) {
    let references = object.meta_mut().owner_references.get_or_insert_default();
    match references
        .iter_mut()
        .find(|existing| is_same_owner(existing, &reference))
    {
        Some(existing) => *existing = reference,
        None => references.push(reference),
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::apps::v1::Deployment;
    use k8s_openapi::api::core::v1::{ConfigMap, Node};

    use super::*;

    fn owner(name: &str, uid: &str) -> Deployment {
        let mut owner = Deployment::default();
        owner.metadata.name = Some(name.to_owned());
        owner.metadata.namespace = Some("n".to_owned());
        owner.metadata.uid = Some(uid.to_owned());
        owner
    }

    fn object() -> ConfigMap {
        let mut object = ConfigMap::default();
        object.metadata.name = Some("settings".to_owned());
        object.metadata.namespace = Some("n".to_owned());
        object
    }

    #[test]
    fn a_second_controller_is_refused_and_a_second_owner_is_not() {
        let mut object = object();
        set_controller_reference(&owner("a", "1"), &mut object).unwrap();
        let error = set_controller_reference(&owner("b", "2"), &mut object).unwrap_err();
        assert_eq!(error.to_string(), "settings is already controlled by Deployment a");
        set_owner_reference(&owner("b", "2"), &mut object).unwrap();
        set_owner_reference(&owner("c", "3"), &mut object).unwrap();
        assert_eq!(object.metadata.owner_references.as_ref().unwrap().len(), 3);
        assert!(remove_owner_reference(&owner("b", "2"), &mut object));
        assert!(!has_owner_reference(&owner("b", "2"), &object));
        assert!(has_owner_reference(&owner("c", "3"), &object));
    }

    #[test]
    fn the_same_owner_twice_is_one_reference_with_the_newest_uid() {
        let mut object = object();
        set_controller_reference(&owner("a", "1"), &mut object).unwrap();
        set_controller_reference(&owner("a", "2"), &mut object).unwrap();
        let references = object.metadata.owner_references.as_ref().unwrap();
        assert_eq!(references.len(), 1);
        assert_eq!(
            (references[0].uid.as_str(), references[0].block_owner_deletion),
            ("2", Some(true))
        );
    }

    #[test]
    fn owners_that_the_garbage_collector_would_not_accept_are_refused() {
        let mut node = Node::default();
        let error = set_owner_reference(&owner("a", "1"), &mut node).unwrap_err();
        assert!(matches!(error, OwnerError::ClusterScopedObject { .. }));
        let error = set_owner_reference(&owner("a", ""), &mut object()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "Deployment.apps a has no uid; an owner must be read from the cluster"
        );
        // A cluster-scoped owner may own anything.
        node.metadata.name = Some("node".to_owned());
        node.metadata.uid = Some("9".to_owned());
        set_owner_reference(&node, &mut object()).unwrap();
    }
}
