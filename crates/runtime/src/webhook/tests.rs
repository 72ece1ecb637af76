//! Patches and mistakes: what holds for all values, and what is told by name.

use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::align::{ListEdit, align};
use super::patch::carry_over;
use super::*;

/// Applies what [`PatchOperation::between`] makes.
fn apply(mut value: Value, operations: &[PatchOperation]) -> Value {
    for operation in operations {
        let path = operation.path();
        let Some((parent, last)) = path.rsplit_once('/') else {
            match operation {
                PatchOperation::Replace { value: new, .. } => value = new.clone(),
                other => panic!("{other:?} at the root"),
            }
            continue;
        };
        let last = last.replace("~1", "/").replace("~0", "~");
        match (value.pointer_mut(parent).unwrap(), operation) {
            (Value::Object(fields), PatchOperation::Add { value, .. }) => {
                fields.insert(last, value.clone());
            }
            (Value::Object(fields), PatchOperation::Replace { value, .. }) => {
                *fields.get_mut(&last).unwrap() = value.clone();
            }
            (Value::Object(fields), PatchOperation::Remove { .. }) => {
                fields.remove(&last).unwrap();
            }
            (Value::Array(items), PatchOperation::Add { value, .. }) => {
                items.insert(last.parse().unwrap(), value.clone());
            }
            (Value::Array(items), PatchOperation::Replace { value, .. }) => {
                items[last.parse::<usize>().unwrap()] = value.clone();
            }
            (Value::Array(items), PatchOperation::Remove { .. }) => {
                items.remove(last.parse().unwrap());
            }
            (there, other) => panic!("{other:?} on {there}"),
        }
    }
    value
}

/// The same by the function that the trace uses.
fn applied(mut value: Value, operations: &[PatchOperation]) -> Value {
    for operation in operations {
        patch::apply(&mut value, operation).unwrap();
    }
    value
}

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (0..4_i64).prop_map(Value::from),
        "[a/~]{0,2}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::btree_map(prop_oneof![Just("name".to_owned()), "[a-c/~]{1,2}"], inner, 0..6)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

/// The value without what a type does not know: fields that begin with `x`.
fn typed(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let known = fields.iter().filter(|(name, _)| !name.starts_with('x'));
            Value::Object(known.map(|(name, value)| (name.clone(), typed(value))).collect())
        }
        Value::Array(items) => items.iter().map(typed).collect(),
        other => other.clone(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]

    #[test]
    fn a_patch_makes_of_one_value_the_other(from in values(), to in values()) {
        let patch = PatchOperation::between(&from, &to);
        prop_assert_eq!(apply(from.clone(), &patch), to.clone());
        prop_assert_eq!(applied(from.clone(), &patch), to.clone());
        prop_assert_eq!(patch.is_empty(), from == to);
    }

    #[test]
    fn what_a_type_changes_is_changed_whatever_else_is_there(raw in values(), after in values()) {
        // A type that knows everything: the result is what it says, but for fields it fills in.
        prop_assert_eq!(carry_over(&raw, &raw, &after), after);
    }

    #[test]
    fn steps_visit_each_item_of_both_lists_once_and_in_order(
        old in prop::collection::vec(values(), 0..8),
        new in prop::collection::vec(values(), 0..8),
    ) {
        let steps = align(&old, &new);
        let olds: Vec<usize> = steps.iter().filter_map(|step| match step {
            ListEdit::Pair(at, _) | ListEdit::Delete(at) => Some(*at),
            ListEdit::Insert(_) => None,
        }).collect();
        let news: Vec<usize> = steps.iter().filter_map(|step| match step {
            ListEdit::Pair(_, at) | ListEdit::Insert(at) => Some(*at),
            ListEdit::Delete(_) => None,
        }).collect();
        prop_assert_eq!(olds, (0..old.len()).collect::<Vec<_>>());
        prop_assert_eq!(news, (0..new.len()).collect::<Vec<_>>());
    }
}

#[test]
fn unknown_fields_stay_with_the_item_they_belong_to() {
    let raw = json!({ "items": [{ "name": "a", "x": 1 }, { "name": "b", "x": 2 }, { "name": "c", "x": 3 }], "x": 0 });
    let after = json!({ "items": [{ "name": "new" }, { "name": "a", "n": 1 }, { "name": "c" }] });
    assert_eq!(
        carry_over(&raw, &typed(&raw), &after),
        json!({ "items": [{ "name": "new" }, { "name": "a", "n": 1, "x": 1 }, { "name": "c", "x": 3 }], "x": 0 })
    );
}

#[test]
fn what_a_type_fills_in_by_itself_is_not_written() {
    let raw = json!({ "spec": { "a": 1 } });
    let before = json!({ "spec": { "a": 1, "b": 2 }, "status": { "phase": "", "deep": { "c": 0 } } });
    let after = json!({ "spec": { "a": 1, "b": 2 }, "status": { "phase": "", "deep": { "c": 7 } } });
    assert_eq!(
        carry_over(&raw, &before, &after),
        json!({ "spec": { "a": 1 }, "status": { "deep": { "c": 7 } } })
    );
    let null = json!({ "spec": null });
    assert_eq!(carry_over(&null, &before, &after)["spec"], Value::Null);
}

#[test]
fn a_removed_item_is_one_operation() {
    let from = json!({ "items": [1, 2, 3, 4, 5] });
    let to = json!({ "items": [1, 3, 4, 5] });
    assert_eq!(
        PatchOperation::between(&from, &to),
        [PatchOperation::remove("/items/1")]
    );
}

#[test]
fn comparing_long_lists_allocates_in_proportion_to_their_length() {
    const LENGTH: u32 = 20_000;
    let old: Vec<Value> = (0..LENGTH).map(Value::from).collect();
    let new: Vec<Value> = (0..LENGTH).rev().map(Value::from).collect();
    let (old, new) = (Value::from(old), Value::from(new));
    let mut patch = Vec::new();
    let allocated = allocation_counter::measure(|| patch = PatchOperation::between(&old, &new));
    assert_eq!(apply(old, &patch), new);
    // A table of all pairs would take 160 KB for each item.
    assert!(allocated.bytes_total < u64::from(LENGTH) * 2_000, "{allocated:?}");
}

#[expect(clippy::unnecessary_wraps, reason = "a defaulter may refuse")]
fn nothing(_: &mut ConfigMap, _: &AdmissionRequest) -> Result<(), Rejection> {
    Ok(())
}

fn with(change: impl Fn(Settings) -> Settings) -> Webhook {
    Webhook::of::<ConfigMap>().defaulter(nothing).mutating(change).into()
}

#[test]
fn mistakes_are_told_by_name() {
    let wrong = |webhook: Webhook| check(&[webhook]).unwrap_err().to_string();
    assert!(wrong(with(|settings| settings.name("two.words"))).contains("\"two.words\""));
    assert!(wrong(with(|settings| settings.name("Vview.example.com"))).contains("at least three words"));
    assert!(wrong(with(|settings| settings.path("no-slash"))).contains("\"no-slash\""));
    assert!(wrong(with(|settings| settings.path("/a//b"))).contains("\"/a//b\""));
    assert_eq!(
        wrong(with(|settings| settings.timeout_seconds(31))),
        "webhook \"mconfigmap.kb.io\" has a timeout of 31 s: it must be between 1 and 30"
    );
    assert!(wrong(with(|settings| settings.operations([]))).contains("never be asked"));
    assert_eq!(
        wrong(Webhook::of::<Pod>().into()),
        "a webhook of Pod has neither a defaulter nor a validator"
    );
    let twice = [with(|settings| settings), with(|settings| settings.path("/other"))];
    assert_eq!(
        check(&twice).unwrap_err().to_string(),
        "two mutating webhooks are named \"mconfigmap.kb.io\", at /mutate--v1-configmap and /other; give one another name \
         with `settings.name(…)`"
    );
}

#[test]
fn a_handler_that_needs_a_client_is_not_served_without() {
    let webhook = Webhook::of::<ConfigMap>().defaulter_with(|_| nothing);
    assert_eq!(
        WebhookServer::new([webhook]).unwrap_err(),
        WebhookError::NeedsClient("/mutate--v1-configmap".to_owned())
    );
}

#[test]
fn a_raw_handler_may_mutate_and_validate_at_one_path() {
    let raw = Webhook::raw("/both", |_: AdmissionRequest| async { AdmissionResponse::allowed() })
        .mutates(AdmissionRule::new([""], ["v1"], ["pods"]))
        .validates(AdmissionRule::new(["*"], ["*"], ["*/*"]))
        .validating(|settings| settings.operations([Operation::all()]).scope(Scope::Namespaced));
    check(std::slice::from_ref(&raw)).unwrap();
    let described = raw.describe();
    assert_eq!(described.len(), 2);
    assert_eq!(
        serde_json::to_value(&described[1].rules).unwrap(),
        json!([{ "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*/*"], "operations": ["*"], "scope": "Namespaced" }])
    );
}

#[test]
fn a_configuration_says_what_the_settings_say() {
    let webhook = with(|settings| {
        settings
            .name("settings.shop.example.com")
            .path("/settings")
            .failure_policy(FailurePolicy::Ignore)
            .side_effects(SideEffects::NoneOnDryRun)
            .timeout_seconds(3)
            .match_policy(MatchPolicy::Exact)
            .match_condition("not-a-node", "!('system:nodes' in request.userInfo.groups)")
            .reinvocation_policy(ReinvocationPolicy::IfNeeded)
            .review_versions(["v1", "v1beta1"])
            .object_selector(serde_json::from_value(json!({ "matchLabels": { "app": "shop" } })).unwrap())
            .namespace_selector(
                serde_json::from_value(json!({ "matchExpressions": [{ "key": "skip", "operator": "DoesNotExist" }] }))
                    .unwrap(),
            )
    });
    let configurations = Configurations::render(
        "shop",
        &webhook.describe(),
        &ClientConfig::service("system", "hooks").port(8443).ca_bundle("PEM"),
    );
    assert_eq!(
        serde_json::to_value(configurations.mutating.unwrap()).unwrap(),
        json!({
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "MutatingWebhookConfiguration",
            "metadata": { "name": "shop-mutating-webhook-configuration" },
            "webhooks": [{
                "name": "settings.shop.example.com",
                "admissionReviewVersions": ["v1", "v1beta1"],
                "clientConfig": {
                    "caBundle": "UEVN",
                    "service": { "namespace": "system", "name": "hooks", "path": "/settings", "port": 8443 },
                },
                "failurePolicy": "Ignore",
                "matchConditions": [{ "name": "not-a-node", "expression": "!('system:nodes' in request.userInfo.groups)" }],
                "matchPolicy": "Exact",
                "namespaceSelector": { "matchExpressions": [{ "key": "skip", "operator": "DoesNotExist" }] },
                "objectSelector": { "matchLabels": { "app": "shop" } },
                "reinvocationPolicy": "IfNeeded",
                "rules": [{
                    "apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"], "resources": ["configmaps"],
                }],
                "sideEffects": "NoneOnDryRun",
                "timeoutSeconds": 3,
            }],
        })
    );
}

#[test]
fn operations_of_every_kind_are_done_and_those_that_do_not_fit_are_not() {
    let text = |text: &str| text.to_owned();
    let from = json!({ "spec": { "a/b": 1, "list": ["x"] } });
    let operations = [
        PatchOperation::Test {
            path: text("/spec/a~1b"),
            value: json!(1),
        },
        PatchOperation::Move {
            from: text("/spec/a~1b"),
            path: text("/spec/c"),
        },
        PatchOperation::Copy {
            from: text("/spec/c"),
            path: text("/spec/list/-"),
        },
        PatchOperation::add("/spec/list/0", "w"),
    ];
    assert_eq!(
        applied(from.clone(), &operations),
        json!({ "spec": { "c": 1, "list": ["w", "x", 1] } })
    );
    for wrong in [
        PatchOperation::remove("/spec/none"),
        PatchOperation::remove("/spec/list/1"),
        PatchOperation::replace("/spec/none", 1),
        PatchOperation::add("/spec/list/2", 1),
        PatchOperation::add("/none/at", 1),
        PatchOperation::Test {
            path: text("/spec/a~1b"),
            value: json!(2),
        },
    ] {
        assert_eq!(patch::apply(&mut from.clone(), &wrong), None, "{wrong:?}");
    }
}
