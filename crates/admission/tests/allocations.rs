//! What a policy takes from the allocator for a request that it has nothing against: nothing, as a rule of a definition does. Counted, not
//! timed.
//!
//! A program of its own: counting replaces the allocator of the whole program.

use kubewright_admission::policy::{Request, RequestVariable, ValidatingPolicy};
use kubewright_admission::{Attributes, GroupVersionKind, GroupVersionResource, Operation, UserInfo};
use serde_json::{Value, json};

/// How often finding out that a policy is about a request and evaluating it asks the allocator.
fn count(spec: &Value) -> u64 {
    let mut policy = json!({"metadata": {"name": "p"}, "spec": spec});
    policy["spec"]["matchConstraints"] = json!({
        "matchPolicy": "Equivalent",
        "namespaceSelector": {"matchLabels": {"team": "shop"}},
        "resourceRules": [{
            "operations": ["CREATE"], "apiGroups": ["apps"], "apiVersions": ["v1"], "resources": ["deployments"],
        }],
    });
    let policy = ValidatingPolicy::read(&policy);
    let attributes = Attributes {
        operation: Operation::Create,
        kind: GroupVersionKind::new("apps", "v1", "Deployment"),
        resource: GroupVersionResource::new("apps", "v1", "deployments"),
        subresource: String::new(),
        name: "web".into(),
        namespace: "shop".into(),
        user: UserInfo {
            username: "jane".into(),
            ..UserInfo::default()
        },
        dry_run: false,
        options: Value::Null,
    };
    let object = json!({
        "metadata": {"name": "web", "labels": {"app": "web"}},
        "spec": {"replicas": 2, "template": {"spec": {"containers": [
            {"name": "a", "image": "registry.example.com/a:1"}, {"name": "b", "image": "registry.example.com/b:1"},
        ]}}},
    });
    let labels = json!({"team": "shop"});
    let variable = RequestVariable::default();
    let evaluate = || {
        let found = policy
            .matches
            .find(&attributes, &object, &Value::Null, &[], || Ok::<_, ()>(&labels));
        assert!(matches!(found, Ok(Some(_))));
        let (kind, resource) = (&attributes.kind, &attributes.resource);
        let request = Request::new(&attributes, kind, resource, &object, &Value::Null, &variable);
        policy.evaluate(&request)
    };
    let verdict = evaluate();
    assert!(verdict.failures.is_empty(), "{verdict:?}");
    allocation_counter::measure(|| drop(evaluate())).count_total
}

#[test]
fn a_policy_that_holds_allocates_nothing() {
    let validations = json!([
        {"expression": "object.spec.replicas <= 3", "message": "at most three"},
        {"expression": "has(object.metadata.labels) && 'app' in object.metadata.labels"},
        {
            "expression": "object.spec.template.spec.containers.all(c, c.image.startsWith('registry.example.com/'))",
            "messageExpression": "'images of ' + object.metadata.name + ' come from elsewhere'",
        },
    ]);
    assert_eq!(count(&json!({"validations": validations})), 0);
}

#[test]
fn the_variables_of_a_policy_take_one_allocation() {
    let spec = json!({
        "variables": [
            {"name": "containers", "expression": "object.spec.template.spec.containers"},
            {"name": "count", "expression": "variables.containers.size()"},
        ],
        "validations": [{"expression": "variables.count < 5"}, {"expression": "variables.containers.all(c, c.name != '')"}],
    });
    assert_eq!(count(&spec), 1);
}
