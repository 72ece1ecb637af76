//! What follows from events, one by one; and that counting agrees with looking.

use serde_json::{Value, json};

use super::*;

fn kind() -> Kind {
    Kind::named("", "v1", "ConfigMap", "configmaps", true)
}

fn record(namespace: &str, name: &str, change: &Value) -> Record {
    let mut meta = change.clone();
    meta["name"] = name.into();
    meta["namespace"] = namespace.into();
    meta["uid"] = name.into();
    Record::parse(json!({ "metadata": meta }).to_string().as_bytes(), &kind()).unwrap()
}

fn see_in(graph: &mut Graph, namespace: &str, name: &str, change: &Value) -> Consequences {
    let record = record(namespace, name, change);
    graph.observe(&kind(), record.key(), ObservedObject::of(&record))
}

fn see(graph: &mut Graph, name: &str, change: &Value) -> Vec<Uid> {
    see_in(graph, "shop", name, change).look_at.into_iter().collect()
}

fn owned_by_all(owners: &[&str]) -> Value {
    let owner = |owner: &&str| {
        json!({
            "apiVersion": "v1", "kind": "ConfigMap", "name": owner, "uid": owner, "blockOwnerDeletion": true,
        })
    };
    json!({ "ownerReferences": owners.iter().map(owner).collect::<Vec<_>>() })
}

fn owned_by(owner: &str) -> Value {
    owned_by_all(&[owner])
}

fn going() -> Value {
    json!({ "deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": [FOREGROUND] })
}

fn uids(names: &[&str]) -> BTreeSet<Uid> {
    names.iter().map(|name| Uid::from(*name)).collect()
}

fn blocking(graph: &Graph, uid: &str) -> Vec<Uid> {
    graph.blocking(uid).map(|(uid, _)| Arc::clone(uid)).collect()
}

#[test]
fn dependents_are_looked_at_when_their_owner_goes() {
    let mut graph = Graph::default();
    assert!(see(&mut graph, "owner", &json!({})).is_empty());
    assert!(see(&mut graph, "child", &owned_by("owner")).is_empty());
    let gone = graph.forget("owner");
    assert_eq!(gone.look_at, uids(&["child"]));
    assert_eq!(gone.absent.unwrap().name, "owner");
}

#[test]
fn an_owner_nobody_has_seen_is_looked_for() {
    let mut graph = Graph::default();
    assert_eq!(see(&mut graph, "child", &owned_by("ghost")), ["ghost".into()]);
    let sought = graph.get("ghost").unwrap().sought.clone().unwrap();
    assert_eq!(graph.not_found(&"ghost".into(), &sought).look_at, uids(&["child"]));
    assert!(graph.get("ghost").is_none());
}

#[test]
fn an_owner_that_is_not_where_one_says_is_looked_for_where_another_says() {
    let mut graph = Graph::default();
    see_in(&mut graph, "wrong", "liar", &owned_by("owner"));
    see_in(&mut graph, "shop", "child", &owned_by("owner"));
    let owner = Uid::from("owner");
    let first = graph.get("owner").unwrap().sought.clone().unwrap();
    assert_eq!(first.namespace.as_deref(), Some("wrong"));
    assert_eq!(graph.not_found(&owner, &first).look_at, uids(&["liar"]));
    let second = graph.get("owner").unwrap().sought.clone().unwrap();
    assert_eq!(second.namespace.as_deref(), Some("shop"));
    // It is there after all: its dependents are still known, and who named it wrongly is told of.
    let seen = see_in(&mut graph, "shop", "owner", &json!({}));
    assert_eq!(seen.strange, [("liar".into(), "owner".into())]);
    assert_eq!(seen.look_at, uids(&["liar"]));
    assert_eq!(graph.forget("owner").look_at, uids(&["child", "liar"]));
}

#[test]
fn foreground_deletion_looks_at_dependents_and_at_the_owner_when_the_last_is_gone() {
    let mut graph = Graph::default();
    see(&mut graph, "owner", &json!({}));
    see(&mut graph, "first", &owned_by("owner"));
    see(&mut graph, "second", &owned_by("owner"));
    let looked_at = see(&mut graph, "owner", &going());
    assert_eq!(looked_at, ["first".into(), "owner".into(), "second".into()]);
    assert_eq!(blocking(&graph, "owner"), ["first".into(), "second".into()]);
    assert!(graph.forget("first").look_at.is_empty());
    assert_eq!(graph.forget("second").look_at, uids(&["owner"]));
    assert!(!graph.get("owner").unwrap().is_blocked());
}

#[test]
fn a_dependent_that_stops_holding_up_its_owner_lets_it_go() {
    let mut graph = Graph::default();
    see(&mut graph, "owner", &going());
    assert_eq!(see(&mut graph, "child", &owned_by("owner")), ["child".into()]);
    let mut free = owned_by("owner");
    free["ownerReferences"][0]["blockOwnerDeletion"] = false.into();
    assert!(see(&mut graph, "child", &free).contains(&"owner".into()));
    assert!(blocking(&graph, "owner").is_empty());
}

#[test]
fn an_owner_in_another_namespace_is_strange() {
    let mut graph = Graph::default();
    see(&mut graph, "owner", &json!({}));
    let consequences = see_in(&mut graph, "other", "child", &owned_by("owner"));
    assert_eq!(consequences.strange, [("child".into(), "owner".into())]);
    assert_eq!(consequences.look_at, uids(&["child"]));
}

#[test]
fn a_reference_that_names_an_owner_wrongly_is_looked_at_whoever_is_seen_first() {
    let mut wrong = owned_by("owner");
    wrong["ownerReferences"][0]["name"] = "somebody".into();
    let mut graph = Graph::default();
    see(&mut graph, "owner", &json!({}));
    assert_eq!(see(&mut graph, "child", &wrong), ["child".into()]);
    let mut graph = Graph::default();
    see(&mut graph, "child", &wrong);
    assert_eq!(see(&mut graph, "owner", &json!({})), ["child".into()]);
}

/// A deterministic walk through owners that change, go and come, with the count compared to what it counts.
#[test]
fn the_count_of_those_that_hold_an_owner_up_is_the_number_of_them() {
    // A uid that is gone never comes back: the next of that name has the next number.
    let mut numbers = [0_u32; 5];
    let uid = |identity: usize, numbers: &[u32; 5]| format!("{identity}-{}", numbers[identity]);
    let mut graph = Graph::default();
    let mut state = 7_u32;
    let mut next = |below: usize| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 16) as usize % below
    };
    for _ in 0..2000 {
        let identity = next(numbers.len());
        if next(4) == 0 {
            graph.forget(&uid(identity, &numbers));
            numbers[identity] += 1;
        } else {
            let count = next(4);
            let owners: Vec<String> = (0..count).map(|_| uid(next(5), &numbers)).collect();
            let owners: Vec<&str> = owners.iter().map(String::as_str).collect();
            let mut change = owned_by_all(&owners);
            for owner in change["ownerReferences"].as_array_mut().unwrap() {
                owner["blockOwnerDeletion"] = (next(2) == 0).into();
            }
            see(&mut graph, &uid(identity, &numbers), &change);
        }
        for identity in 0..numbers.len() {
            let uid = uid(identity, &numbers);
            let counted = graph.get(&uid).map_or(0, |node| node.blocking);
            assert_eq!(counted, graph.blocking(&uid).count(), "{uid}");
            let named: BTreeSet<&Uid> = graph.get(&uid).into_iter().flat_map(Node::dependents).collect();
            let naming = graph
                .nodes
                .iter()
                .filter(|(_, node)| node.owners.iter().any(|owner| *owner.uid == *uid));
            assert_eq!(named, naming.map(|(uid, _)| uid).collect(), "{uid}");
        }
    }
}
