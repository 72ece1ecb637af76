//! Decides whether to keep, adopt, release or ignore an object that a selector selects, as upstream's `ControllerRefManager` does.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::Resource;
use kubewright_runtime::client::{Client, Error, Patch};
use kubewright_runtime::object::{Object, ObjectKey, Selector, View};
use serde_json::json;

use super::index::controller_of;
use super::labels;

/// What becomes of an object that may belong to an owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Claim {
    /// It belongs to the owner.
    Keep,
    /// It has no controller and is selected: the owner adopts it.
    Adopt,
    /// It belongs to the owner, and is not selected any more: the owner lets it go.
    Release,
    /// It is not the owner's, or not for it to decide.
    Leave,
}

/// Decides about one object.
pub(crate) fn claim<O: Resource, K: Resource>(owner: &O, selector: &Selector, object: &K) -> Claim {
    let owner = owner.meta();
    let object_meta = object.meta();
    let selected = labels::matches(selector, object_meta.labels.as_ref());
    let deleting = owner.deletion_timestamp.is_some();
    match controller_of(object) {
        Some(controller) if Some(&controller.uid) != owner.uid.as_ref() => Claim::Leave,
        Some(_) if selected => Claim::Keep,
        Some(_) if deleting => Claim::Leave,
        Some(_) => Claim::Release,
        None if deleting || !selected || object_meta.deletion_timestamp.is_some() => Claim::Leave,
        None if owner.namespace != object_meta.namespace => Claim::Leave,
        None => Claim::Adopt,
    }
}

/// The reference by which an owner controls an object.
pub(crate) fn controller_reference<O: Object>(owner: &O) -> OwnerReference {
    let meta = owner.meta();
    OwnerReference {
        api_version: O::api_version(&()).into_owned(),
        kind: O::kind(&()).into_owned(),
        name: meta.name.clone().unwrap_or_default(),
        uid: meta.uid.clone().unwrap_or_default(),
        controller: Some(true),
        block_owner_deletion: Some(true),
    }
}

/// The key of an object that has a name.
pub(crate) fn key_of<K: Resource>(object: &K) -> ObjectKey {
    let meta = object.meta();
    ObjectKey::new(meta.namespace.as_deref(), meta.name.as_deref().unwrap_or_default())
}

/// Decides about all objects, carries it out, and returns those that belong to the owner.
///
/// Before the first adoption the owner is read from the server: it may be going, or another one by now.
pub(crate) async fn claim_all<O: Object, K: Object>(
    client: &Client,
    owner: &O,
    selector: &Selector,
    objects: impl IntoIterator<Item = View<K>>,
) -> Result<Vec<View<K>>, Error> {
    let mut claimed = Vec::new();
    let mut may_adopt = None;
    for object in objects {
        match claim(owner, selector, &*object) {
            Claim::Keep => claimed.push(object),
            Claim::Leave => {}
            Claim::Release => release(client, owner, &*object).await?,
            Claim::Adopt => {
                let allowed = match may_adopt {
                    Some(allowed) => allowed,
                    None => *may_adopt.insert(is_same_and_stays(client, owner).await?),
                };
                if allowed && adopt(client, owner, &*object).await? {
                    claimed.push(object);
                }
            }
        }
    }
    Ok(claimed)
}

async fn is_same_and_stays<O: Object>(client: &Client, owner: &O) -> Result<bool, Error> {
    let live = client.live().get_opt::<O>(&key_of(owner)).await?;
    Ok(live.is_some_and(|live| live.meta().uid == owner.meta().uid && live.meta().deletion_timestamp.is_none()))
}

/// Whether the object was there to be adopted.
async fn adopt<O: Object, K: Object>(client: &Client, owner: &O, object: &K) -> Result<bool, Error> {
    let patch = Patch::Strategic(json!({ "metadata": {
        "ownerReferences": [controller_reference(owner)], "uid": object.meta().uid,
    } }));
    match client.patch::<K>(&key_of(object), &patch).await {
        Ok(_) => Ok(true),
        Err(error) if error.is_not_found() => Ok(false),
        Err(error) => Err(error),
    }
}

async fn release<O: Object, K: Object>(client: &Client, owner: &O, object: &K) -> Result<(), Error> {
    let patch = Patch::Strategic(json!({ "metadata": {
        "ownerReferences": [{ "$patch": "delete", "uid": owner.meta().uid }], "uid": object.meta().uid,
    } }));
    match client.patch::<K>(&key_of(object), &patch).await {
        // It is gone, or another one, or not ours any more: released in each case.
        Err(error) if !error.is_not_found() && !error.is_invalid() && !error.is_conflict() => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::apps::v1::ReplicaSet;
    use k8s_openapi::api::core::v1::Pod;

    use super::*;

    fn owner(deleting: bool) -> ReplicaSet {
        let mut owner = json!({ "metadata": { "name": "web", "namespace": "shop", "uid": "1" } });
        if deleting {
            owner["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
        }
        serde_json::from_value(owner).unwrap()
    }

    fn pod(app: &str, controller: Option<&str>, deleting: bool) -> Pod {
        let mut pod = json!({ "metadata": { "name": "a", "namespace": "shop", "labels": { "app": app } } });
        if let Some(uid) = controller {
            pod["metadata"]["ownerReferences"] = json!([
                { "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": uid, "controller": true },
            ]);
        }
        if deleting {
            pod["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
        }
        serde_json::from_value(pod).unwrap()
    }

    fn decide(owner: &ReplicaSet, pod: &Pod) -> Claim {
        claim(owner, &Selector::everything().equals("app", "web"), pod)
    }

    #[test]
    fn an_owner_keeps_what_it_selects_and_releases_what_it_does_not() {
        let owner = owner(false);
        assert_eq!(decide(&owner, &pod("web", Some("1"), false)), Claim::Keep);
        assert_eq!(decide(&owner, &pod("other", Some("1"), false)), Claim::Release);
        assert_eq!(decide(&owner, &pod("web", Some("2"), false)), Claim::Leave);
    }

    #[test]
    fn only_selected_orphans_that_stay_are_adopted() {
        let owner = owner(false);
        assert_eq!(decide(&owner, &pod("web", None, false)), Claim::Adopt);
        assert_eq!(decide(&owner, &pod("other", None, false)), Claim::Leave);
        assert_eq!(decide(&owner, &pod("web", None, true)), Claim::Leave);
    }

    #[test]
    fn an_owner_that_goes_neither_adopts_nor_releases() {
        let owner = owner(true);
        assert_eq!(decide(&owner, &pod("web", None, false)), Claim::Leave);
        assert_eq!(decide(&owner, &pod("other", Some("1"), false)), Claim::Leave);
        assert_eq!(decide(&owner, &pod("web", Some("1"), false)), Claim::Keep);
    }
}
