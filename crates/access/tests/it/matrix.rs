//! Thousands of decisions of a real kube-apiserver, asked again here. `matrix/record` wrote them down.

use std::collections::BTreeSet;

use kubewright_access::{Attributes, Authorizer, Policy, RbacResource, Reason, Scope, User};
use serde_json::Value;

fn recorded() -> Value {
    // Another recording, for a look at other seeds.
    let text = match std::env::var("KUBEWRIGHT_ACCESS_MATRIX") {
        Ok(path) => std::fs::read_to_string(path).unwrap(),
        Err(_) => include_str!("../matrix/recorded.json").to_owned(),
    };
    serde_json::from_str(&text).unwrap()
}

fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn policy(recorded: &Value) -> Policy {
    let mut policy = Policy::default();
    for object in recorded["objects"].as_array().unwrap() {
        let table = match text(object, "kind") {
            "Role" => RbacResource::Roles,
            "ClusterRole" => RbacResource::ClusterRoles,
            "RoleBinding" => RbacResource::RoleBindings,
            "ClusterRoleBinding" => RbacResource::ClusterRoleBindings,
            kind => panic!("{kind}"),
        };
        let (namespace, name) = (
            text(&object["metadata"], "namespace"),
            text(&object["metadata"], "name"),
        );
        let key = if namespace.is_empty() {
            name.to_owned()
        } else {
            format!("{namespace}/{name}")
        };
        policy.set(table, &key, Some(object));
    }
    policy
}

fn user(spec: &Value) -> User {
    let groups = spec["groups"].as_array().into_iter().flatten();
    User {
        name: text(spec, "user").into(),
        groups: groups.filter_map(Value::as_str).map(str::to_owned).collect(),
        ..User::default()
    }
}

fn asked(spec: &Value) -> Attributes<'_> {
    let resource = &spec["resourceAttributes"];
    if resource.is_null() {
        let path = &spec["nonResourceAttributes"];
        return Attributes::path(text(path, "verb"), text(path, "path"));
    }
    Attributes::resource(
        text(resource, "verb"),
        text(resource, "group"),
        text(resource, "resource"),
    )
    .in_namespace(text(resource, "namespace"))
    .named(text(resource, "name"))
    .part(text(resource, "subresource"))
}

/// Every reason that a server may give: it looks at bindings in no particular order and names the first that allows.
fn reasons(policy: &Policy, user: &User, asked: &Attributes<'_>) -> BTreeSet<String> {
    let mut grants = policy.grants(user, Scope::Cluster);
    if !asked.namespace.is_empty() {
        let local = policy.grants(user, Scope::Namespace(&asked.namespace));
        grants.granted.extend(local.granted);
    }
    let allowing = grants.granted.into_iter().filter(|grant| {
        let mut rules = grant.rules.iter();
        rules.any(|rule| rule.allows(asked))
    });
    allowing
        .map(|grant| Reason::Granted(grant.source).to_string())
        .collect()
}

/// The errors of a refusal, which come in no particular order either.
fn parts(reason: &str) -> BTreeSet<&str> {
    let list = reason.strip_prefix("RBAC: ").unwrap_or(reason);
    list.trim_start_matches('[').trim_end_matches(']').split(", ").collect()
}

#[test]
fn every_recorded_decision_is_ours_too() {
    let recorded = recorded();
    let policy = policy(&recorded);
    let authorizer = Authorizer::new(policy.clone());
    let questions = recorded["questions"].as_array().unwrap();
    assert!(questions.len() >= 2000, "{}", questions.len());
    let (mut allowed, mut explained) = (0, 0);
    for question in questions {
        let (spec, expected, reason) = (&question[0], &question[1], question[2].as_str().unwrap());
        let (user, asked) = (user(spec), asked(spec));
        let decision = authorizer.decide(&user, &asked);
        assert_eq!(*expected, decision.allowed, "{spec}");
        let ours = decision.reason.to_string();
        if decision.allowed && !user.is_master() {
            let all = reasons(&policy, &user, &asked);
            assert!(
                all.contains(&ours) && all.contains(reason),
                "{spec}: {reason} is none of {all:?}"
            );
        } else {
            assert_eq!(parts(&ours), parts(reason), "{spec}");
        }
        allowed += usize::from(decision.allowed);
        explained += usize::from(!reason.is_empty());
    }
    // A recording of refusals only, or of decisions without reasons, would prove little.
    assert!(
        allowed * 5 > questions.len() && explained * 5 > questions.len(),
        "{allowed}, {explained}"
    );
}

#[test]
fn a_change_of_the_policy_empties_the_cache() {
    let recorded = recorded();
    let fresh =
        |policy: &Policy, user: &User, asked: &Attributes<'_>| Authorizer::new(policy.clone()).decide(user, asked);
    let authorizer = Authorizer::new(Policy::default());
    let mut known = Policy::default();
    let questions = recorded["questions"].as_array().unwrap();
    let objects = recorded["objects"].as_array().unwrap();
    for (at, object) in objects.iter().enumerate() {
        let table = RbacResource::of_resource(&format!("{}s", text(object, "kind").to_lowercase())).unwrap();
        let (namespace, name) = (
            text(&object["metadata"], "namespace"),
            text(&object["metadata"], "name"),
        );
        let key = if namespace.is_empty() {
            name.to_owned()
        } else {
            format!("{namespace}/{name}")
        };
        authorizer.refresh(table, &key, || Some(object.clone()));
        known.set(table, &key, Some(object));
        for question in questions.iter().skip(at).step_by(objects.len()) {
            let (user, asked) = (user(&question[0]), asked(&question[0]));
            assert_eq!(authorizer.decide(&user, &asked), fresh(&known, &user, &asked));
            assert_eq!(authorizer.fork().decide(&user, &asked), fresh(&known, &user, &asked));
        }
    }
}
