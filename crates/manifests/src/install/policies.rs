//! Admission policies and their bindings.

use kubewright_description::{PolicyDescription, PolicyType};
use serde_json::{Value, json};

use super::file::kustomization;
use super::{GeneratedFile, RenderContext};

const GROUP: &str = "admissionregistration.k8s.io";
/// Each kind of policy with its file's name and its binding.
const KINDS: [(PolicyType, &str, &str, &str); 2] = [
    (
        PolicyType::Validating,
        "ValidatingAdmissionPolicy",
        "validating",
        "ValidatingAdmissionPolicyBinding",
    ),
    (
        PolicyType::Mutating,
        "MutatingAdmissionPolicy",
        "mutating",
        "MutatingAdmissionPolicyBinding",
    ),
];

/// `config/policy`; nothing, if the operator brings no policies.
pub(super) fn files(context: &RenderContext<'_>) -> Vec<GeneratedFile> {
    let policies = &context.operator.policies;
    if policies.is_empty() {
        return Vec::new();
    }
    let mut files = Vec::new();
    for (role, kind, short, binding) in KINDS {
        for policy in policies.iter().filter(|policy| policy.role == role) {
            let objects = objects(context, policy, kind, binding);
            let path = format!("policy/{short}_{}.yaml", policy.name);
            files.push(GeneratedFile::of_all(path, objects));
        }
    }
    files.sort_by(|one, other| one.path.cmp(&other.path));
    let mut kustomization = kustomization(&files, "policy");
    kustomization.documents[0]["configurations"] = json!(["kustomizeconfig.yaml"]);
    files.push(kustomization);
    files.push(GeneratedFile::of("policy/kustomizeconfig.yaml", references()));
    files
}

fn objects(context: &RenderContext<'_>, policy: &PolicyDescription, kind: &str, binding: &str) -> Vec<Value> {
    let object = |kind: &str, spec: &Value| {
        let mut object = context.object(&format!("{GROUP}/v1"), kind, &policy.name);
        object["spec"] = spec.clone();
        object
    };
    let mut bound = object(binding, &policy.binding);
    bound["spec"]["policyName"] = policy.name.as_str().into();
    vec![object(kind, &policy.spec), bound]
}

/// Tells kustomize where a binding names its policy.
fn references() -> Value {
    let reference = |kind: &str, binding: &str| {
        json!({
            "kind": kind,
            "group": GROUP,
            "fieldSpecs": [{ "kind": binding, "group": GROUP, "path": "spec/policyName" }],
        })
    };
    let references = KINDS.map(|(_, kind, _, binding)| reference(kind, binding));
    json!({ "nameReference": references })
}
