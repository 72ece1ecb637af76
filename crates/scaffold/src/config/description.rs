//! What the code of a project says of itself as long as it is what the scaffold wrote: the description that its program would print.
//! From it follows the first state of the files that `kubewright manifests` writes, without building anything.

use std::collections::{BTreeMap, BTreeSet};

use kubewright_description::{
    AdmissionRule, ConversionDescription, DefinitionDescription, Description, FailurePolicy, Rule, RuleDescription,
    SideEffects, WebhookDescription, WebhookType,
};
use serde_json::{Value, json};

use crate::{Project, Resource};

/// The description of a project.
pub(super) fn describe(project: &Project) -> Description {
    let (certificate_rules, certificate_namespace_rules) = certificate_rules(project);
    Description {
        webhooks: webhooks(project),
        conversions: conversions(project),
        definitions: project.defined_kinds().map(|kind| definition(project, kind)).collect(),
        aggregated: project
            .kinds()
            .filter(|kind| kind.aggregated())
            .map(|kind| definition(project, kind))
            .collect(),
        rules: rules(project),
        certificate_rules,
        certificate_namespace_rules,
        ..Description::new(&project.name)
    }
}

fn definition(project: &Project, resource: &Resource) -> DefinitionDescription {
    let (group, plural, kind) = (resource.api_group(), resource.plural(), &resource.kind);
    let scope = if resource.namespaced() { "Namespaced" } else { "Cluster" };
    DefinitionDescription {
        definition: json!({
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": { "name": format!("{plural}.{group}") },
            "spec": {
                "group": group,
                "names": { "kind": kind, "plural": plural, "singular": resource.lowercase() },
                "scope": scope,
                "versions": [{
                    "name": resource.version,
                    "served": true,
                    "storage": project.is_stored(resource),
                    "subresources": { "status": {} },
                }],
            },
        }),
        schema: json!({
            "description": format!("{kind} is the schema of the {plural} API."),
            "type": "object",
            "properties": { "spec": spec(project, resource), "status": status(project, resource) },
            "required": ["spec"],
        }),
        group,
        version: resource.version.clone(),
        kind: kind.clone(),
        plural,
        namespaced: resource.namespaced(),
        ty: kind.clone(),
        problem: None,
    }
}

/// As `templates/code/api.rs` and `api_image.rs` have it.
fn spec(project: &Project, resource: &Resource) -> Value {
    let properties = match project.image_of(resource) {
        None => json!({
            "foo": {
                "description": format!("An example. Edit `{}.rs` to remove or change it.", resource.module()),
                "type": "string",
            },
        }),
        Some(image) => {
            let number = |description: &str, default: u16, minimum: u16, maximum: u16| {
                json!({
                    "description": description,
                    "default": default,
                    "minimum": minimum,
                    "maximum": maximum,
                    "type": "integer",
                    "format": "int32",
                })
            };
            let mut properties = json!({ "size": number("How many pods run the image.", 1, 0, 3) });
            if let Some(port) = image.port {
                properties["containerPort"] = number("Where the container listens.", port, 1, u16::MAX);
            }
            properties
        }
    };
    let description = format!("What {} asks for.", project.one_of(&resource.kind));
    json!({ "description": description, "type": "object", "properties": properties })
}

fn status(project: &Project, resource: &Resource) -> Value {
    let conditions = match project.image_of(resource) {
        None => "How it stands: `Available`, and what else you add.",
        Some(_) => "`Available`: as many pods run as were asked for.",
    };
    let description = format!("What is observed of {}.", project.one_of(&resource.kind));
    json!({ "description": description, "type": "object", "properties": { "conditions": conditions_of(conditions) } })
}

/// `Vec<Condition>`, in the words of Kubernetes' own schema.
fn conditions_of(description: &str) -> Value {
    json!({
        "description": description,
        "type": "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["type"],
        "items": {
            "description": "Condition contains details for one aspect of the current state of this API Resource.",
            "type": "object",
            "required": ["lastTransitionTime", "message", "reason", "status", "type"],
            "properties": {
                "lastTransitionTime": {
                    "description": "lastTransitionTime is the last time the condition transitioned from one status to another. This \
                                    should be when the underlying condition changed.  If that is not known, then using the time \
                                    when the API field changed is acceptable.",
                    "type": "string",
                    "format": "date-time",
                },
                "message": {
                    "description": "message is a human readable message indicating details about the transition. This may be an \
                                    empty string.",
                    "type": "string",
                    "maxLength": 32768,
                },
                "observedGeneration": {
                    "description": "observedGeneration represents the .metadata.generation that the condition was set based upon. For \
                                    instance, if .metadata.generation is currently 12, but the \
                                    .status.conditions[x].observedGeneration is 9, the condition is out of date with respect to the \
                                    current state of the instance.",
                    "type": "integer",
                    "format": "int64",
                    "minimum": 0,
                },
                "reason": {
                    "description": "reason contains a programmatic identifier indicating the reason for the condition's last \
                                    transition. Producers of specific condition types may define expected values and meanings for \
                                    this field, and whether the values are considered a guaranteed API. The value should be a \
                                    CamelCase string. This field may not be empty.",
                    "type": "string",
                    "minLength": 1,
                    "maxLength": 1024,
                    "pattern": "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$",
                },
                "status": {
                    "description": "status of the condition, one of True, False, Unknown.",
                    "type": "string",
                    "enum": ["True", "False", "Unknown"],
                },
                "type": {
                    "description": "type of condition in CamelCase or in foo.example.com/CamelCase.",
                    "type": "string",
                    "maxLength": 316,
                    "pattern": "^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$",
                },
            },
        },
    })
}

/// What controllers read, and what the attributes above their reconcilers say.
fn rules(project: &Project) -> Vec<Rule> {
    let controllers = || project.resources.iter().filter(|resource| resource.controller);
    let mut reads: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for resource in controllers() {
        reads.entry(resource.api_group()).or_default().push(resource.plural());
        if project.image_of(resource).is_some() {
            reads
                .entry("apps".to_owned())
                .or_default()
                .push("deployments".to_owned());
        }
    }
    let mut rules: Vec<Rule> = Vec::new();
    for (group, mut resources) in reads {
        resources.sort_unstable();
        resources.dedup();
        let verbs = ["get", "list", "watch"].map(str::to_owned);
        rules.push(Rule::new(vec![group], resources, verbs.to_vec()));
    }
    if controllers().next().is_some() {
        rules.push(Rule::new(["events.k8s.io"], ["events"], ["create", "patch"]));
    }
    for resource in controllers().filter(|resource| resource.api.is_some()) {
        let update = |subresource: &str| {
            let resources = format!("{}{subresource}", resource.plural());
            Rule::new([resource.api_group()], [resources], ["update".to_owned()])
        };
        if project.image_of(resource).is_some() {
            rules.push(Rule::new(["apps"], ["deployments"], ["create", "patch"]));
            rules.extend([update(""), update("/status"), update("/finalizers")]);
        } else {
            rules.push(update("/status"));
        }
    }
    rules
}

fn webhooks(project: &Project) -> Vec<WebhookDescription> {
    let admitted = || project.resources.iter().filter(|resource| resource.admits());
    let mut webhooks = Vec::new();
    for resource in admitted() {
        // Names tell versions and groups apart only where another webhook is of a kind of the same name.
        let others: Vec<&Resource> = admitted()
            .filter(|other| other.kind == resource.kind && other.api_version() != resource.api_version())
            .collect();
        let suffix = if others.iter().any(|other| other.api_group() != resource.api_group()) {
            let group = resource.api_group();
            let group = if group.is_empty() { "core" } else { &group };
            format!("-{}.{group}", resource.version)
        } else if others.is_empty() {
            String::new()
        } else {
            format!("-{}", resource.version)
        };
        if resource.defaults() {
            webhooks.push(webhook(resource, WebhookType::Mutating, "mutate", &suffix));
        }
        if resource.validates() {
            webhooks.push(webhook(resource, WebhookType::Validating, "validate", &suffix));
        }
    }
    webhooks
}

fn webhook(resource: &Resource, role: WebhookType, verb: &str, suffix: &str) -> WebhookDescription {
    let (group, version, kind) = (resource.api_group(), &resource.version, resource.lowercase());
    let letter = &verb[..1];
    WebhookDescription {
        role,
        name: format!("{letter}{kind}{suffix}.kb.io"),
        path: format!("/{verb}-{}-{version}-{kind}", group.replace('.', "-")),
        rules: vec![RuleDescription {
            rule: AdmissionRule::new([group], [version.clone()], [resource.plural()]),
            operations: vec!["CREATE".to_owned(), "UPDATE".to_owned()],
            scope: None,
        }],
        failure_policy: FailurePolicy::Fail,
        side_effects: SideEffects::None,
        timeout_seconds: None,
        match_policy: None,
        namespace_selector: None,
        object_selector: None,
        match_conditions: Vec::new(),
        reinvocation_policy: None,
        review_versions: vec!["v1".to_owned()],
    }
}

fn conversions(project: &Project) -> Vec<ConversionDescription> {
    let hubs = project.resources.iter().filter(|resource| resource.converts());
    let described = hubs.map(|hub| {
        let mut versions = vec![hub.version.clone()];
        versions.extend(project.spokes_of(hub).map(|spoke| spoke.version.clone()));
        ConversionDescription {
            definition: format!("{}.{}", hub.plural(), hub.api_group()),
            hub: hub.api_version(),
            kind: hub.kind.clone(),
            versions,
        }
    });
    described.collect()
}

/// What keeping the webhooks' certificates takes: everywhere, and in the manager's own namespace.
fn certificate_rules(project: &Project) -> (Vec<Rule>, Vec<Rule>) {
    let name = &project.name;
    let any = |is: fn(&Resource) -> bool| project.resources.iter().any(is);
    let definitions: Vec<String> = conversions(project)
        .into_iter()
        .map(|conversion| conversion.definition)
        .collect();
    let targets = [
        (
            "admissionregistration.k8s.io",
            "mutatingwebhookconfigurations",
            any(Resource::defaults).then(|| format!("{name}-mutating-webhook-configuration")),
        ),
        (
            "admissionregistration.k8s.io",
            "validatingwebhookconfigurations",
            any(Resource::validates).then(|| format!("{name}-validating-webhook-configuration")),
        ),
    ];
    let rule = |group: &str, resource: &str, names: Vec<String>| {
        Rule::new([group], [resource], ["get", "list", "watch", "patch"]).named(names)
    };
    let mut rules: Vec<Rule> = targets
        .into_iter()
        .filter_map(|(group, resource, name)| Some(rule(group, resource, vec![name?])))
        .collect();
    if !definitions.is_empty() {
        rules.push(rule("apiextensions.k8s.io", "customresourcedefinitions", definitions));
    }
    let secret = |of: &str| {
        let verbs = ["get", "list", "watch", "create", "update", "patch"];
        Rule::new([""], ["secrets"], verbs).named([format!("{name}-{of}-service-cert")])
    };
    let mut own = Vec::new();
    if !rules.is_empty() {
        own.push(secret("webhook"));
    }
    let aggregated = project.kinds().filter(|kind| kind.aggregated());
    let services: BTreeSet<String> = aggregated
        .map(|kind| format!("{}.{}", kind.version, kind.api_group()))
        .collect();
    if !services.is_empty() {
        rules.push(rule(
            "apiregistration.k8s.io",
            "apiservices",
            services.into_iter().collect(),
        ));
        own.push(secret("extension"));
    }
    (rules, own)
}
