//! Mutating policies: evaluated one after the other, each for the object as those before it changed it (A14).

use std::collections::HashSet;
use std::sync::Arc;

use kubewright_admission::policy::{Binding, Change, MatchedVersion, MutatingPolicy};
use kubewright_admission::{FailurePolicy, GroupVersionKind, Operation, patch};
use kubewright_merge as merge;
use serde_json::{Map, Value};

use super::context::{Context, Forms};
use super::params;
use crate::admit::Attributes;
use crate::object::meta_text;
use crate::registry::api_version;
use crate::webhook::dispatch::{OwnersBefore, VersionedObjects};
use crate::wire::status::{Cause, Result, Status};

/// What the reinvocation of policies needs to know of the first round (A8).
#[derive(Default)]
pub(crate) struct PolicyReinvocation {
    round: usize,
    /// A policy was applied to the object.
    changed: bool,
    /// The object after the last policy.
    output: Option<Value>,
    /// The policies with `reinvocationPolicy: IfNeeded` that have been evaluated since the object last changed.
    evaluated: HashSet<InvocationKey>,
    /// The policies that the second round evaluates again.
    due: HashSet<InvocationKey>,
}

/// The names of a policy, of a binding and of its params.
type InvocationKey = [String; 4];

impl PolicyReinvocation {
    /// Begins the second round. Returns `false` if policies need none.
    pub(crate) fn again(&mut self) -> bool {
        let first = self.round == 0;
        self.round += 1;
        first && self.changed
    }

    fn object_changed(&mut self) {
        self.due.extend(self.evaluated.drain());
    }
}

/// A policy that is to be evaluated with these params.
struct Invocation<'p> {
    policy: &'p MutatingPolicy,
    binding: &'p Arc<Binding>,
    matched: MatchedVersion,
    params: Value,
}

impl Invocation<'_> {
    fn key(&self) -> InvocationKey {
        [
            self.policy.name.clone(),
            self.binding.name.clone(),
            meta_text(&self.params, "namespace").to_owned(),
            meta_text(&self.params, "name").to_owned(),
        ]
    }
}

/// Whether there is a policy that may change what is to be written, as far as that is seen without looking at the object.
pub(crate) fn may_mutate(attributes: &Attributes<'_>) -> bool {
    attributes.server.policies.mutating(attributes).is_some()
}

/// Lets policies change what is to be written.
pub(crate) async fn mutate(
    attributes: &Attributes<'_>,
    object: &mut Value,
    old: Option<&Value>,
    (round, owners): (&mut PolicyReinvocation, &mut OwnersBefore),
) -> Result<()> {
    let Some(policies) = attributes.server.policies.mutating(attributes) else {
        return Ok(());
    };
    if attributes.operation == Operation::Delete {
        return Ok(());
    }
    let Some(context) = Context::new(attributes) else {
        return Ok(());
    };
    let seen_old = old.unwrap_or(&Value::Null);
    let mut errors = PolicyErrors::default();
    let mut forms = Forms::default();
    let mut invocations = Vec::new();
    for bound in policies.iter() {
        let policy = &*bound.policy;
        let matched = match context.find(&policy.matches, object, seen_old) {
            Ok(Some(matched)) => matched,
            Ok(None) => continue,
            Err(why) => {
                errors.misconfigured(policy, None, &why);
                continue;
            }
        };
        let param_resource = match params::resource_of(attributes.server, policy.param_kind.as_ref()) {
            Ok(resource) => resource,
            Err(why) => {
                errors.misconfigured(policy, None, &why);
                continue;
            }
        };
        for binding in &bound.bindings {
            match context.is_bound(binding, object, seen_old) {
                Ok(true) => {}
                Ok(false) => continue,
                Err(why) => {
                    errors.misconfigured(policy, Some(binding), &why);
                    continue;
                }
            }
            let converted = forms.of(matched, &context, || VersionedObjects::new(attributes, object, old));
            if let Err(status) = converted.await {
                errors.misconfigured(policy, None, &status.message);
                continue;
            }
            let namespace = &context.facts.namespace;
            match params::of_binding(attributes.server, param_resource.as_deref(), binding, namespace).await {
                Ok(found) => invocations.extend(found.into_iter().map(|mut params| {
                    if param_resource
                        .as_ref()
                        .is_some_and(|resource| resource.custom().is_none())
                    {
                        leave_out_type(&mut params);
                    }
                    Invocation {
                        policy,
                        binding,
                        matched,
                        params,
                    }
                })),
                Err(why) => errors.misconfigured(policy, Some(binding), &why),
            }
        }
    }
    if !invocations.is_empty() {
        if round.round > 0 && round.output.as_ref() != Some(object) {
            round.object_changed();
        }
        if let Some(last) = apply_all(&context, &invocations, &mut forms, &mut errors, round).await?
            && let Some(mut objects) = forms.take(last)
        {
            round.changed = true;
            round.object_changed();
            objects
                .convert_to(&attributes.kind(), attributes, &context.equivalents)
                .await?;
            owners.replace(object, objects.into_object(attributes)?);
        }
        if round.round == 0 {
            round.output = Some(object.clone());
        }
    }
    errors.check(attributes)
}

/// Upstream's message that what a policy made of a built-in kind cannot be brought to the version of the request: it converts from one served
/// version to another, which its types do not know how to do.
fn unconverted(context: &Context<'_>, matched: MatchedVersion) -> Option<String> {
    let (from, to) = (context.version(matched).1, &context.facts.kind);
    if from == to || context.attributes.resource.custom().is_some() {
        return None;
    }
    let shown = |kind: &GroupVersionKind| format!("{}.{}", kind.version, kind.kind);
    if from.group == to.group {
        return Some(format!(
            "converting ({}) to ({}): unknown conversion",
            shown(from),
            shown(to)
        ));
    }
    let wanted = api_version(&to.group, &to.version);
    Some(format!(
        "{} is not suitable for converting to \"{wanted}\" in scheme \"pkg/runtime/scheme.go:111\"",
        shown(from)
    ))
}

/// Upstream shows params of built-in kinds to mutating policies as its cache holds them, without their type.
fn leave_out_type(params: &mut Value) {
    if let Some(fields) = params.as_object_mut() {
        fields.remove("apiVersion");
        fields.remove("kind");
    }
}

/// Evaluates policies. Returns the version of the last one that was applied, which alone counts if there are several.
async fn apply_all(
    context: &Context<'_>,
    invocations: &[Invocation<'_>],
    forms: &mut Forms,
    errors: &mut PolicyErrors,
    round: &mut PolicyReinvocation,
) -> Result<Option<MatchedVersion>> {
    let mut last = None;
    for invocation in invocations {
        let Invocation {
            policy,
            binding,
            matched,
            params,
        } = invocation;
        let Some(objects) = forms.get_mut(*matched) else {
            continue;
        };
        let holds = || -> Result<_> { Ok(policy.holds(&context.request(policy.reads, *matched, objects, params)?)) };
        let holds = context.attributes.settled(holds).await?;
        match holds {
            Ok(true) => {}
            Ok(false) => continue,
            Err(why) => {
                errors.failed(policy, binding, &why);
                continue;
            }
        }
        if round.round > 0 && !round.due.contains(&invocation.key()) {
            continue;
        }
        for mutation in 0..policy.mutations() {
            if objects.object.is_null() {
                continue;
            }
            let change = || -> Result<_> {
                Ok(policy.change(mutation, &context.request(policy.reads, *matched, objects, params)?))
            };
            let change = context.attributes.settled(change).await?;
            match change.and_then(|change| patched(context, objects, change)) {
                Ok(patched) => {
                    let unconverted = unconverted(context, *matched);
                    let mut given_up;
                    let changed = if unconverted.is_some() {
                        given_up = objects.clone();
                        &mut given_up
                    } else {
                        &mut *objects
                    };
                    if let Some(patched) = patched {
                        accept(context, changed, patched)?;
                    }
                    match unconverted {
                        None => last = Some(*matched),
                        Some(why) => errors.failed(policy, binding, &why),
                    }
                }
                Err(why) => errors.failed(policy, binding, &why),
            }
        }
        if policy.reinvoke {
            round.evaluated.insert(invocation.key());
        }
    }
    Ok(last)
}

/// The object with a change; `None` if nothing is to be changed. The error is upstream's message.
fn patched(
    context: &Context<'_>,
    objects: &VersionedObjects,
    change: Change,
) -> std::result::Result<Option<Patched>, String> {
    match change {
        Change::Patch(operations) => {
            let patched = patch::apply_operations(operations, &objects.object);
            let patched = patched.map_err(|why| format!("JSON Patch: {why}"))?;
            Ok(patched.map(Patched::Strictly))
        }
        Change::Apply(configuration) => {
            let mut applied: Map<String, Value> = configuration;
            let kind = &objects.kind;
            let Some(ty) = objects.topology(context.attributes, &context.equivalents) else {
                return Err(format!(
                    "error applying patch: failed to convert patch object to typed object: \
                     no corresponding type for {}/{}, Kind={}",
                    kind.group, kind.version, kind.kind
                ));
            };
            applied.insert("apiVersion".into(), api_version(&kind.group, &kind.version).into());
            applied.insert("kind".into(), kind.kind.as_str().into());
            let merged = merge::configure(ty, &objects.object, &Value::Object(applied));
            let merged = merged.map_err(|why| format!("error applying patch: {why}"))?;
            Ok(Some(Patched::Merged(merged)))
        }
    }
}

/// An object that a policy changed.
enum Patched {
    /// By a patch: fields that its type does not have are refused.
    Strictly(Value),
    /// By merging, which knows its type.
    Merged(Value),
}

fn accept(context: &Context<'_>, objects: &mut VersionedObjects, patched: Patched) -> Result<()> {
    let (attributes, equivalents) = (context.attributes, &context.equivalents);
    let (document, unknown) = match patched {
        Patched::Merged(document) => (document, Vec::new()),
        Patched::Strictly(document) => {
            let unknown = objects.unknown_fields(&document, attributes, equivalents);
            (document, unknown)
        }
    };
    objects
        .accept_patched(document, attributes, equivalents)
        .map_err(|why| Status::internal(&why))?;
    if unknown.is_empty() {
        return Ok(());
    }
    let unknown: Vec<String> = unknown
        .iter()
        .map(|field| format!("unknown field \"{field}\""))
        .collect();
    Err(Status::internal(&format!(
        "strict decoding error: {}",
        unknown.join(", ")
    )))
}

/// What went wrong with policies that do not ignore it.
#[derive(Default)]
struct PolicyErrors(Vec<PolicyError>);

struct PolicyError {
    message: String,
    /// It was evaluated, and failed.
    evaluated: bool,
}

impl PolicyErrors {
    fn add(&mut self, policy: &MutatingPolicy, binding: Option<&Binding>, why: &str, evaluated: bool) {
        if policy.failure_policy == FailurePolicy::Ignore {
            return;
        }
        let message = match binding {
            Some(binding) => format!(
                "policy '{}' with binding '{}' denied request: {why}",
                policy.name, binding.name
            ),
            None => format!("policy \"{}\" denied request: {why}", policy.name),
        };
        self.0.push(PolicyError { message, evaluated });
    }

    /// A policy or a binding cannot be evaluated.
    fn misconfigured(&mut self, policy: &MutatingPolicy, binding: Option<&Binding>, why: &str) {
        let what = if binding.is_some() { "binding" } else { "policy" };
        self.add(policy, binding, &format!("failed to configure {what}: {why}"), false);
    }

    fn failed(&mut self, policy: &MutatingPolicy, binding: &Binding, why: &str) {
        self.add(policy, Some(binding), why, true);
    }

    /// Refuses the write with the first of them, and names them all.
    fn check(self, attributes: &Attributes<'_>) -> Result<()> {
        let Some(first) = self.0.first() else {
            return Ok(());
        };
        let mut status = attributes.forbidden("");
        status.message.clone_from(&first.message);
        if first.evaluated {
            status.reason = "Invalid";
        }
        if let Some(details) = &mut status.details {
            details.causes.extend(self.0.into_iter().map(|error| Cause {
                message: error.message,
                ..Cause::default()
            }));
        }
        Err(status)
    }
}
