//! The state every cluster begins with, as recorded from a fresh kube-apiserver; built once per process and forked.

use jiff::Timestamp;
use kubewright_store::{Limits, Store};
use kubewright_system::clock::{self, Clock};
use kubewright_system::random::Random;
use serde_json::Value;

use crate::aggregation::initial_authentication_config;
use crate::object::{self, meta_text, set_meta};
use crate::registry::{BuiltInId, Registry};
use crate::server::own_objects;

/// One object a line: what `conformance/upstream/bootstrap` wrote.
static OBJECTS: &str = include_str!("../../facts/bootstrap.jsonl");

/// Of the uids of a repeatable state. No server has a seed like it: its objects would have the same uids.
const SEED: u64 = 0x6b75_6265_7772_6967;
/// When the objects of a repeatable state were made: before any time that a test would begin at.
const EPOCH: Timestamp = Timestamp::constant(1_735_689_600, 0);

/// A store with the bootstrap objects, made now.
pub(crate) fn state(limits: Limits) -> Store {
    made_at(limits, Clock::system().now(), &Random::from_entropy())
}

/// The same with uids and times that are equal in every process.
pub(crate) fn repeatable_state(limits: Limits) -> Store {
    made_at(limits, EPOCH, &Random::seeded(SEED))
}

fn made_at(limits: Limits, now: Timestamp, random: &Random) -> Store {
    let store = Store::new(limits);
    let time = clock::stamp(now);
    for line in OBJECTS.lines() {
        let Ok(mut object) = serde_json::from_str::<Value>(line) else {
            continue;
        };
        set_meta(&mut object, "uid", random.uuid());
        set_meta(&mut object, "creationTimestamp", time.as_str());
        put_times(&mut object, &time);
        let Some(resource) = Registry::builtin().iter().find(|resource| {
            resource.is_stored()
                && object.get("kind").and_then(Value::as_str) == Some(&*resource.kind)
                && object.get("apiVersion").and_then(Value::as_str) == Some(&resource.api_version)
        }) else {
            continue;
        };
        let key = object::key(meta_text(&object, "namespace"), meta_text(&object, "name"));
        // The names in the table are unique.
        let _ = store.create(resource.table, &key, object::to_built_in_draft(resource, &object));
    }
    if let Some(config) = initial_authentication_config(now, random.uuid()) {
        let resource = BuiltInId::ConfigMaps.resource();
        let key = object::key(meta_text(&config, "namespace"), meta_text(&config, "name"));
        let _ = store.create(resource.table, &key, object::to_built_in_draft(resource, &config));
    }
    for (resource, object) in own_objects::initial(now, || random.uuid()) {
        let key = object::key(meta_text(&object, "namespace"), meta_text(&object, "name"));
        let _ = store.create(resource.table, &key, object::to_built_in_draft(resource, &object));
    }
    // Clients connect only after the bootstrap, so none has seen an older revision.
    store.compact(store.revision());
    store
}

/// An object that every cluster begins with.
pub(crate) fn object(kind: &str, name: &str) -> Option<Value> {
    let objects = OBJECTS
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok());
    objects
        .filter(|object| object.get("kind").and_then(Value::as_str) == Some(kind))
        .find(|object| meta_text(object, "name") == name)
}

/// Fills in the times that a recording leaves out.
fn put_times(object: &mut Value, time: &str) {
    for entry in object
        .pointer_mut("/metadata/managedFields")
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
    {
        entry["time"] = time.into();
    }
    for condition in object
        .pointer_mut("/status/conditions")
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
    {
        condition["lastTransitionTime"] = time.into();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repeatable_state_has_the_same_bytes_every_time() {
        let states = [(); 2].map(|()| repeatable_state(Limits::default()));
        let resource = BuiltInId::Namespaces.resource();
        let [one, other] = states.map(|store| {
            store
                .get(resource.table, "kube-system")
                .map(|record| record.body.clone())
        });
        assert!(one.is_some());
        assert_eq!(one, other);
    }

    #[test]
    fn every_recorded_object_is_there() {
        let store = state(Limits::default());
        let recorded = OBJECTS.lines().count() as u64;
        // And one that names the authorities of this process, and two that tell of the process.
        assert_eq!(store.revision().0, recorded + 4);
        assert!(
            store
                .get(BuiltInId::Services.resource().table, "default/kubernetes")
                .is_some()
        );
    }
}
