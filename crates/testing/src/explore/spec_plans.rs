//! The edits that are tried of what a step made: each change of each field, the same and back, and several one after another.

use kubewright_runtime::random::Random;
use serde_json::Value;

use super::cluster::Cluster;
use super::observation::Boundary;
use super::plan::ObjectName;
use super::schema_values::{self, Changes};
use super::spec_edit::{Change, SpecEdit};

/// How many changes of one object are tried.
const MOST_CHANGES: usize = 200;
/// How many sequences of changes.
const SEQUENCES: usize = 6;
/// How many changes a sequence has.
const LENGTH: usize = 3;

/// The edits of the objects of a step.
#[derive(Default)]
pub(super) struct Edits {
    pub(super) found: Vec<SpecEdit>,
    /// How many more changes there would be.
    pub(super) beyond: usize,
    /// How many CEL rules suggest no change.
    pub(super) unread_rules: usize,
}

/// The edits of the objects of a program's own kinds that are there after a step.
pub(super) fn edits(boundary: &Boundary, seed: u64, mut is_new: impl FnMut(&ObjectName) -> bool) -> Edits {
    let mut all = Edits::default();
    for name in &boundary.given {
        let Some(object) = boundary.cluster.objects().get(name) else {
            continue;
        };
        let Some(schema) = schema_of(&boundary.cluster, name, object) else {
            continue;
        };
        // What an earlier step made was tried after that step; a generated name is another one in each run.
        if object["metadata"]["generateName"].is_string() || !is_new(name) {
            continue;
        }
        let Changes {
            mut changes,
            unread_rules,
        } = schema_values::changes(schema, object);
        all.unread_rules += unread_rules.len();
        all.beyond += changes.len().saturating_sub(MOST_CHANGES);
        changes.truncate(MOST_CHANGES);
        let edit = |changes: Vec<Change>| SpecEdit {
            object: name.clone(),
            changes,
        };
        let edits = &mut all.found;
        edits.extend(changes.iter().map(|change| edit(vec![change.clone()])));
        edits.extend(changes.iter().map(|change| edit(vec![change.clone(), Change::Undo])));
        edits.extend(sequences(&changes, seed).into_iter().map(edit));
    }
    all
}

/// The schema of an object's own version, if its kind is defined in the cluster.
fn schema_of<'a>(cluster: &'a Cluster, name: &ObjectName, object: &Value) -> Option<&'a Value> {
    let definition = ObjectName {
        resource: "customresourcedefinitions.apiextensions.k8s.io".to_owned(),
        name: name.resource.clone(),
    };
    let definition = cluster.objects().get(&definition)?;
    let (_, version) = object["apiVersion"].as_str()?.split_once('/')?;
    let mut versions = definition["spec"]["versions"].as_array()?.iter();
    let own = versions.find(|own| own["name"] == version)?;
    Some(&own["schema"]["openAPIV3Schema"])
}

/// Some changes one after another, chosen by the seed; every second time it ends where it began.
fn sequences(changes: &[Change], seed: u64) -> Vec<Vec<Change>> {
    if changes.len() < LENGTH {
        return Vec::new();
    }
    let random = Random::seeded(seed);
    let choose = || changes[random.below(changes.len())].clone();
    let mut sequences = Vec::new();
    for at in 0..SEQUENCES {
        let mut sequence: Vec<Change> = (0..LENGTH).map(|_| choose()).collect();
        sequence.dedup();
        if at % 2 == 1 {
            sequence.push(Change::Undo);
        }
        sequences.push(sequence);
    }
    sequences
}

/// The edits with one change fewer. An edit that ends where it began still does.
pub(super) fn smaller(edit: &SpecEdit) -> Vec<SpecEdit> {
    let can_go = |at: &usize| edit.changes[*at] != Change::Undo;
    let least = 1 + usize::from(edit.ends_as_it_was());
    if edit.changes.len() <= least {
        return Vec::new();
    }
    let fewer = (0..edit.changes.len()).filter(can_go).map(|at| {
        let mut fewer = edit.clone();
        fewer.changes.remove(at);
        fewer
    });
    fewer.collect()
}
