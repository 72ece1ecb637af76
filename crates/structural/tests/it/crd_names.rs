//! Names and conditions of definitions (C1, C4): the writes that kube-apiserver 1.36.3 was watched making.

use kubewright_structural::crd::{self, Definition, deletion, names::next_step};
use serde_json::{Value, json};

const NOW: &str = "2026-11-16T05:11:10Z";
const LATER: &str = "2026-11-16T05:11:12Z";

fn definition(plural: &str, kind: &str) -> Value {
    let mut object = json!({
        "metadata": {"name": format!("{plural}.example.com"), "uid": "u"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": plural, "kind": kind},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object"}}}],
        },
    });
    crd::default(&mut object);
    crd::prepare_create(&mut object);
    object
}

/// Every write of the status until nothing is left to do.
fn writes(object: &Value, others: &[&Value]) -> Vec<Value> {
    let mut writes: Vec<Value> = Vec::new();
    let mut current = object.clone();
    while let Some(next) = next_step(&current, others.iter().copied(), NOW) {
        writes.push(next.clone());
        current = next;
        assert!(writes.len() < 10, "it never settles");
    }
    writes
}

fn settled(object: &Value, others: &[&Value]) -> Value {
    writes(object, others).pop().unwrap_or_else(|| object.clone())
}

/// Type, status and reason of every condition.
fn conditions(object: &Value) -> Vec<String> {
    let conditions = object["status"]["conditions"].as_array().into_iter().flatten();
    conditions
        .map(|condition| {
            let text = |field: &str| condition[field].as_str().unwrap_or_default().to_owned();
            format!(
                "{}={} {}: {}",
                text("type"),
                text("status"),
                text("reason"),
                text("message")
            )
        })
        .collect()
}

#[test]
fn a_new_definition_gets_its_names_first_and_is_established_then() {
    let writes = writes(&definition("widgets", "Widget"), &[]);
    assert_eq!(writes.len(), 2);
    assert_eq!(
        writes[0]["status"],
        json!({
            "acceptedNames": {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"},
            "conditions": [
                {"type": "NamesAccepted", "status": "True", "lastTransitionTime": NOW, "reason": "NoConflicts",
                 "message": "no conflicts found"},
                {"type": "Established", "status": "False", "lastTransitionTime": NOW, "reason": "Installing",
                 "message": "the initial names have been accepted"},
            ],
            "storedVersions": ["v1"],
        })
    );
    assert_eq!(
        conditions(&writes[1]),
        [
            "NamesAccepted=True NoConflicts: no conflicts found",
            "Established=True InitialNamesAccepted: the initial names have been accepted",
        ]
    );
}

#[test]
fn a_taken_kind_keeps_a_definition_from_being_served() {
    let first = settled(&definition("as", "A"), &[]);
    let second = settled(&definition("bs", "A"), &[&first]);
    assert_eq!(
        conditions(&second),
        [
            "NamesAccepted=False ListKindConflict: \"AList\" is already in use",
            "Established=False NotAccepted: not all names are accepted",
        ]
    );
    assert_eq!(second["status"]["acceptedNames"], json!({"plural": "bs", "kind": ""}));
    assert!(Definition::of(&second).is_none());
}

#[test]
fn names_that_become_free_are_accepted() {
    let first = settled(&definition("as", "A"), &[]);
    let second = settled(&definition("bs", "A"), &[&first]);
    assert_eq!(next_step(&second, [&first], NOW), None);
    let writes = writes(&second, &[]);
    assert_eq!(writes.len(), 2);
    assert_eq!(writes[1]["status"]["acceptedNames"]["kind"], "A");
    assert!(Definition::of(&writes[1]).is_some_and(|served| served.established));
}

#[test]
fn several_taken_short_names_are_told_together() {
    let mut first = definition("as", "A");
    first["spec"]["names"]["shortNames"] = json!(["x", "y"]);
    let first = settled(&first, &[]);
    let mut second = definition("cs", "C");
    second["spec"]["names"]["shortNames"] = json!(["x", "y", "z"]);
    let second = settled(&second, &[&first]);
    assert_eq!(
        conditions(&second)[0],
        "NamesAccepted=False ShortNamesConflict: [\"x\" is already in use, \"y\" is already in use]"
    );
    assert_eq!(second["status"]["acceptedNames"].get("shortNames"), None);
}

#[test]
fn an_established_definition_stays_established_when_new_names_are_refused() {
    let first = settled(&definition("as", "A"), &[]);
    let mut second = settled(&definition("bs", "B"), &[&first]);
    second["spec"]["names"]["shortNames"] = json!(["as"]);
    let second = settled(&second, &[&first]);
    assert_eq!(
        conditions(&second),
        [
            "NamesAccepted=False ShortNamesConflict: \"as\" is already in use",
            "Established=True InitialNamesAccepted: the initial names have been accepted",
        ]
    );
    assert!(Definition::of(&second).is_some());
}

#[test]
fn names_of_other_groups_are_no_conflict() {
    let mut other = definition("as", "A");
    other["spec"]["group"] = "other.example.com".into();
    let other = settled(&other, &[]);
    assert_eq!(conditions(&settled(&definition("bs", "A"), &[&other])).len(), 2);
    assert!(Definition::of(&settled(&definition("bs", "A"), &[&other])).is_some());
}

#[test]
fn a_protected_group_says_whether_it_was_approved() {
    let mut object = definition("ps", "P");
    object["spec"]["group"] = "zz.k8s.io".into();
    object["metadata"]["annotations"] = json!({"api-approved.kubernetes.io": "unapproved, x"});
    let mut object = settled(&object, &[]);
    assert_eq!(
        conditions(&object)[2],
        "KubernetesAPIApprovalPolicyConformant=False UnapprovedAnnotation: not approved: \"unapproved, x\""
    );
    object["metadata"]["annotations"]["api-approved.kubernetes.io"] = "https://github.com/x/y".into();
    assert_eq!(
        conditions(&settled(&object, &[]))[2],
        "KubernetesAPIApprovalPolicyConformant=True ApprovedAnnotation: approved in https://github.com/x/y"
    );
}

#[test]
fn a_bad_bundle_keeps_a_webhook_from_being_established() {
    let mut object = definition("as", "A");
    object["spec"]["conversion"] =
        json!({"strategy": "Webhook", "webhook": {"clientConfig": {"url": "https://h", "caBundle": "AAAA"}}});
    let writes = writes(&object, &[]);
    assert_eq!(
        conditions(&writes[1])[1],
        "Established=False InvalidCABundle: The conversion webhook CABundle is invalid"
    );
}

#[test]
fn a_schema_that_is_not_structural_has_a_condition() {
    let mut object = settled(&definition("as", "A"), &[]);
    object["spec"]["versions"][0]["schema"]["openAPIV3Schema"] = json!({"properties": {"a": {}}});
    let object = settled(&object, &[]);
    assert_eq!(
        conditions(&object)[2],
        "NonStructuralSchema=True Violations: \
         [spec.versions[0].schema.openAPIV3Schema.properties[a].type: Required value: must not be empty for specified \
         object fields, spec.versions[0].schema.openAPIV3Schema.type: Required value: must not be empty at the root]"
    );
    let mut mended = object;
    mended["spec"]["versions"][0]["schema"]["openAPIV3Schema"] = json!({"type": "object"});
    assert_eq!(conditions(&settled(&mended, &[])).len(), 2);
}

#[test]
fn a_deleted_definition_waits_for_its_objects() {
    let mut object = settled(&definition("as", "A"), &[]);
    crd::prepare_delete(&mut object, LATER);
    assert_eq!(object["metadata"]["deletionTimestamp"], LATER);
    assert_eq!(object["metadata"]["finalizers"], json!([crd::FINALIZER]));
    assert_eq!(
        conditions(&object)[2],
        "Terminating=True InstanceDeletionPending: CustomResourceDefinition marked for deletion; CustomResource deletion \
         will begin soon"
    );
    assert!(Definition::of(&object).is_some_and(|served| served.terminating));
    let object = deletion::in_progress(&object, "2026-11-16T05:11:13Z");
    assert_eq!(
        conditions(&object)[2],
        "Terminating=True InstanceDeletionInProgress: CustomResource deletion is in progress"
    );
    assert_eq!(object["status"]["conditions"][2]["lastTransitionTime"], LATER);
    let object = deletion::completed(&object, "2026-11-16T05:11:13Z");
    assert_eq!(
        conditions(&object)[2],
        "Terminating=False InstanceDeletionCompleted: removed all instances"
    );
    assert_eq!(object["metadata"].get("finalizers"), None);
}
