//! Expressions of admission policies and webhooks: what the API server says of them, and what they cost.

use kubewright_admission::policy::PolicyExpressions;
use kubewright_cel::Range;
use kubewright_cel::limits::PER_CALL;
use serde_json::{Value as Json, json};

use super::hint;
use super::policy_types::{self, PolicyTypes};
use crate::documents::Document;
use crate::trial_server::{Created, TrialServer};

const GROUP: &str = "admissionregistration.k8s.io/";
/// What expressions of admission may refer to.
const NAMES: [&str; 8] = [
    "object",
    "oldObject",
    "request",
    "params",
    "namespaceObject",
    "authorizer",
    "variables",
    "Object",
];

/// Whether a document is a policy, a binding of one or a configuration of webhooks.
pub(super) fn is_admission(value: &Json) -> bool {
    text(value, "/apiVersion").starts_with(GROUP)
        && matches!(
            text(value, "/kind"),
            "ValidatingAdmissionPolicy"
                | "ValidatingAdmissionPolicyBinding"
                | "MutatingAdmissionPolicy"
                | "MutatingAdmissionPolicyBinding"
                | "ValidatingWebhookConfiguration"
                | "MutatingWebhookConfiguration"
        )
}

fn text<'j>(value: &'j Json, pointer: &str) -> &'j str {
    value.pointer(pointer).and_then(Json::as_str).unwrap_or_default()
}

/// An object of admission and what is known about it.
pub(super) struct AdmissionReport<'d> {
    pub(super) document: &'d Document,
    pub(super) kind: &'d str,
    pub(super) name: &'d str,
    pub(super) expressions: Vec<ExpressionReport>,
    /// What is wrong besides its expressions.
    pub(super) issues: Vec<Issue>,
    /// What is worth knowing and no mistake.
    pub(super) notes: Vec<String>,
}

/// One expression.
pub(super) struct ExpressionReport {
    /// Its field, as in `spec.validations[0].expression`.
    pub(super) field: String,
    pub(super) text: String,
    /// What evaluating it once costs, if it can be checked.
    pub(super) cost: Option<Range>,
    /// Why it is refused, or that it fits none of the kinds that the policy is about.
    pub(super) issues: Vec<Issue>,
    /// Which of these kinds it does not fit, if it fits others.
    pub(super) warnings: Vec<Issue>,
    /// What was probably meant.
    pub(super) hint: Option<String>,
}

/// What the server says about a field.
pub(super) struct Issue {
    pub(super) field: String,
    pub(super) detail: String,
}

impl AdmissionReport<'_> {
    pub(super) fn is_accepted(&self) -> bool {
        self.issues.is_empty() && self.expressions.iter().all(ExpressionReport::is_good)
    }

    pub(super) fn json(&self) -> Json {
        json!({
            "file": self.document.name,
            "kind": self.kind,
            "name": self.name,
            "accepted": self.is_accepted(),
            "expressions": self.expressions.iter().map(ExpressionReport::json).collect::<Vec<_>>(),
            "issues": self.issues.iter().map(Issue::json).collect::<Vec<_>>(),
            "notes": self.notes,
        })
    }
}

impl ExpressionReport {
    pub(super) fn is_good(&self) -> bool {
        self.issues.is_empty()
    }

    fn json(&self) -> Json {
        let bound = |cost: u64| (cost < u64::MAX).then_some(cost);
        json!({
            "field": self.field,
            "expression": self.text,
            "accepted": self.issues.is_empty(),
            "estimatedCost": self.cost.map(|cost| json!({"min": cost.min, "max": bound(cost.max)})),
            "costLimit": PER_CALL,
            "issues": self.issues.iter().map(Issue::json).collect::<Vec<_>>(),
            "warnings": self.warnings.iter().map(Issue::json).collect::<Vec<_>>(),
            "hint": self.hint,
        })
    }
}

impl Issue {
    fn json(&self) -> Json {
        json!({"field": self.field, "detail": self.detail})
    }
}

/// Has the server judge an object. Definitions, and policies before their bindings, are there already.
pub(super) async fn report<'d>(server: &mut TrialServer, document: &'d Document) -> AdmissionReport<'d> {
    let value = &document.value;
    let mut expressions = expressions(value);
    let (mut issues, mut notes) = (Vec::new(), Vec::new());
    match server.create(value).await {
        Created::Stored => {}
        Created::Refused(status) => {
            for issue in refusal(&status) {
                match expressions
                    .iter_mut()
                    .find(|expression| expression.field == issue.field)
                {
                    Some(expression) => expression.issues.push(issue),
                    None => issues.push(issue),
                }
            }
        }
        Created::UnknownKind => issues.push(Issue {
            field: "apiVersion".to_owned(),
            detail: format!(
                "the API server has no {} {}",
                text(value, "/apiVersion"),
                text(value, "/kind")
            ),
        }),
    }
    let variables = value["spec"]["variables"].as_array().cloned().unwrap_or_default();
    let types = policy_types::compare(server, value).await;
    add_types(&mut expressions, &types);
    let names = || {
        let variables = variables.iter().map(|variable| text(variable, "/name"));
        let fields = types.names.iter().map(String::as_str);
        NAMES.into_iter().chain(variables).chain(fields)
    };
    for expression in &mut expressions {
        let mut unknown = expression
            .issues
            .iter()
            .chain(&expression.warnings)
            .flat_map(|issue| issue.detail.lines())
            .filter_map(hint::unknown_name);
        expression.hint = unknown
            .find_map(|name| hint::nearest(name, names()))
            .map(|meant| format!("did you mean '{meant}'?"));
    }
    for constraints in ["matchConstraints", "matchResources"] {
        notes.extend(unknown_resources(server, value, constraints).await);
    }
    notes.extend(unknown_params(server, value).await);
    AdmissionReport {
        document,
        kind: text(value, "/kind"),
        name: text(value, "/metadata/name"),
        expressions,
        issues,
        notes,
    }
}

/// Adds where expressions do not fit the kinds that they are about. One that the server refuses is looked at no further, and one
/// that fits none of the kinds can never be right.
fn add_types(expressions: &mut [ExpressionReport], types: &PolicyTypes) {
    for expression in expressions.iter_mut().filter(|expression| expression.is_good()) {
        let mistakes = types
            .mistakes
            .iter()
            .filter(|mistake| mistake.field == expression.field);
        let found: Vec<Issue> = mistakes
            .map(|mistake| Issue {
                field: mistake.field.clone(),
                detail: format!("{}: {}", mistake.kind, mistake.message),
            })
            .collect();
        if found.len() == types.kinds {
            expression.issues = found;
        } else {
            expression.warnings = found;
        }
    }
}

/// All expressions of an object, with what they cost.
fn expressions(value: &Json) -> Vec<ExpressionReport> {
    let spec = &value["spec"];
    let items = |list: &Json| list.as_array().cloned().unwrap_or_default();
    let mut environment = PolicyExpressions::new(spec["paramKind"].is_object());
    let mut found = Vec::new();
    let add = |environment: &PolicyExpressions, found: &mut Vec<ExpressionReport>, field: String, text: &Json| {
        let Some(text) = text.as_str().filter(|text| !text.trim().is_empty()) else {
            return;
        };
        found.push(ExpressionReport {
            field,
            cost: environment.estimate(text),
            text: text.to_owned(),
            issues: Vec::new(),
            warnings: Vec::new(),
            hint: None,
        });
    };
    for (at, condition) in items(&spec["matchConditions"]).iter().enumerate() {
        let field = format!("spec.matchConditions[{at}].expression");
        add(&environment, &mut found, field, &condition["expression"]);
    }
    for (at, variable) in items(&spec["variables"]).iter().enumerate() {
        let field = format!("spec.variables[{at}].expression");
        add(&environment, &mut found, field, &variable["expression"]);
        // What is wrong with it is the server's to say.
        let _ = environment.variable(text(variable, "/name"), text(variable, "/expression"));
    }
    for (at, validation) in items(&spec["validations"]).iter().enumerate() {
        for name in ["expression", "messageExpression"] {
            let field = format!("spec.validations[{at}].{name}");
            add(&environment, &mut found, field, &validation[name]);
        }
    }
    for (at, annotation) in items(&spec["auditAnnotations"]).iter().enumerate() {
        let field = format!("spec.auditAnnotations[{at}].valueExpression");
        add(&environment, &mut found, field, &annotation["valueExpression"]);
    }
    for (at, mutation) in items(&spec["mutations"]).iter().enumerate() {
        for name in ["applyConfiguration", "jsonPatch"] {
            let field = format!("spec.mutations[{at}].{name}.expression");
            add(&environment, &mut found, field, &mutation[name]["expression"]);
        }
    }
    for (at, webhook) in items(&value["webhooks"]).iter().enumerate() {
        for (index, condition) in items(&webhook["matchConditions"]).iter().enumerate() {
            let field = format!("webhooks[{at}].matchConditions[{index}].expression");
            add(&environment, &mut found, field, &condition["expression"]);
        }
    }
    found
}

/// What a `Status` says, field by field. The value of a field is left out where the expression is shown anyway.
fn refusal(status: &Json) -> Vec<Issue> {
    let causes = status["details"]["causes"].as_array().cloned().unwrap_or_default();
    if causes.is_empty() {
        return vec![Issue {
            field: String::new(),
            detail: text(status, "/message").to_owned(),
        }];
    }
    let issue = |cause: &Json| {
        let message = text(cause, "/message");
        let detail = match message.find(": compilation failed: ") {
            Some(at) => message[at + 2..].to_owned(),
            None => message.to_owned(),
        };
        Issue {
            field: text(cause, "/field").to_owned(),
            detail,
        }
    };
    causes.iter().map(issue).collect()
}

/// The resources that rules name and that nobody serves: a typing mistake, or of a definition that was not given.
async fn unknown_resources(server: &mut TrialServer, value: &Json, constraints: &str) -> Vec<String> {
    let mut notes = Vec::new();
    let rules = value["spec"][constraints]["resourceRules"].as_array().cloned();
    for (at, rule) in rules.unwrap_or_default().iter().enumerate() {
        let texts = |name: &str| -> Vec<String> {
            let list = rule[name].as_array().into_iter().flatten();
            let texts = list.filter_map(Json::as_str).filter(|text| !text.contains('*'));
            texts.map(str::to_owned).collect()
        };
        for (group, version) in texts("apiGroups").iter().flat_map(|group| {
            texts("apiVersions")
                .into_iter()
                .map(move |version| (group.clone(), version))
        }) {
            let version = if group.is_empty() {
                version
            } else {
                format!("{group}/{version}")
            };
            for resource in texts("resources") {
                if !server.serves(&version, &resource).await {
                    notes.push(format!(
                        "spec.{constraints}.resourceRules[{at}]: there is no resource {resource:?} in {version} here; if a \
                         CustomResourceDefinition defines it, name its file, too"
                    ));
                }
            }
        }
    }
    notes
}

async fn unknown_params(server: &mut TrialServer, value: &Json) -> Option<String> {
    let kind = value["spec"].get("paramKind")?;
    let (version, kind) = (text(kind, "/apiVersion"), text(kind, "/kind"));
    if server.resource(version, kind).await.is_some() {
        return None;
    }
    Some(format!(
        "spec.paramKind: there is no {version} {kind} here; if a CustomResourceDefinition defines it, name its file, too"
    ))
}
