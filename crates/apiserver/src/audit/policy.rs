//! The policy of an audit log: which requests it has, at which stages, and how much of them (`audit.k8s.io/v1`).

use kubewright_apimachinery::go::quote;
use kubewright_apimachinery::names;
use serde_json::Value;

use crate::access::{Attributes, User};

/// How much of a request is logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum AuditLevel {
    None,
    Metadata,
    Request,
    RequestResponse,
}

const LEVELS: [(&str, AuditLevel); 4] = [
    ("None", AuditLevel::None),
    ("Metadata", AuditLevel::Metadata),
    ("Request", AuditLevel::Request),
    ("RequestResponse", AuditLevel::RequestResponse),
];

impl AuditLevel {
    pub(super) fn name(self) -> &'static str {
        LEVELS[self as usize].0
    }
}

/// When something is logged of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AuditStage {
    RequestReceived,
    ResponseStarted,
    ResponseComplete,
    Panic,
}

const STAGES: [(&str, AuditStage); 4] = [
    ("RequestReceived", AuditStage::RequestReceived),
    ("ResponseStarted", AuditStage::ResponseStarted),
    ("ResponseComplete", AuditStage::ResponseComplete),
    ("Panic", AuditStage::Panic),
];

impl AuditStage {
    pub(super) fn name(self) -> &'static str {
        STAGES[self as usize].0
    }
}

/// What is logged of one request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RequestAudit {
    pub(crate) level: AuditLevel,
    pub(crate) omitted: Vec<AuditStage>,
    pub(crate) omit_managed_fields: bool,
}

/// Which requests an audit log has, and how much of them: a `Policy` of `audit.k8s.io/v1`.
///
/// ```
/// use kubewright_apiserver::AuditPolicy;
///
/// let policy = "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: Metadata}]";
/// assert!(AuditPolicy::parse(policy).is_ok());
/// let wrong = AuditPolicy::parse("apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: Much}]").unwrap_err();
/// assert!(wrong.starts_with("rules[0].level: Unsupported value: \"Much\""));
/// ```
#[derive(Clone, Debug)]
pub struct AuditPolicy {
    rules: Vec<Rule>,
    omitted: Vec<AuditStage>,
    omit_managed_fields: bool,
}

#[derive(Clone, Debug)]
struct Rule {
    level: AuditLevel,
    users: Vec<String>,
    groups: Vec<String>,
    verbs: Vec<String>,
    resources: Vec<GroupResources>,
    namespaces: Vec<String>,
    paths: Vec<String>,
    omitted: Vec<AuditStage>,
    omit_managed_fields: Option<bool>,
}

#[derive(Clone, Debug)]
struct GroupResources {
    group: String,
    resources: Vec<String>,
    names: Vec<String>,
}

impl AuditPolicy {
    /// Reads a policy from YAML or JSON. The error is upstream's.
    pub fn parse(text: &str) -> Result<AuditPolicy, String> {
        let decoded = kubewright_codec::yaml::decode(text.as_bytes());
        let policy = decoded.map_err(|error| format!("failed decoding: {error}"))?.value;
        let (version, kind) = (text_of(&policy, "apiVersion"), text_of(&policy, "kind"));
        if version.is_empty() || kind.is_empty() {
            let missing = if kind.is_empty() { "Kind" } else { "apiVersion" };
            return Err(format!("failed decoding: Object '{missing}' is missing in '{text}'"));
        }
        if (version, kind) != ("audit.k8s.io/v1", "Policy") {
            return Err(format!(
                "failed decoding: no kind {} is registered for version {} in scheme \"k8s.io/apiserver/pkg/audit/scheme.go:30\"",
                quote(kind),
                quote(version)
            ));
        }
        let mut problems = Vec::new();
        let omitted = stages(&policy, "omitStages", &mut problems);
        let rules = list(&policy, "rules").iter().enumerate();
        let rules: Vec<Rule> = rules
            .map(|(at, rule)| Rule::read(rule, &format!("rules[{at}]"), &mut problems))
            .collect();
        match problems.as_slice() {
            [] if rules.is_empty() => Err("loaded illegal policy with 0 rules".to_owned()),
            [] => Ok(AuditPolicy {
                rules,
                omitted,
                omit_managed_fields: policy.get("omitManagedFields") == Some(&Value::Bool(true)),
            }),
            [one] => Err(one.clone()),
            all => Err(format!("[{}]", all.join(", "))),
        }
    }

    /// What is logged of a request: the first rule that fits decides.
    pub(crate) fn of(&self, user: Option<&User>, asked: &Attributes<'_>) -> RequestAudit {
        let rule = self.rules.iter().find(|rule| rule.fits(user, asked));
        let mut omitted = self.omitted.clone();
        omitted.extend(rule.iter().flat_map(|rule| &rule.omitted));
        RequestAudit {
            level: rule.map_or(AuditLevel::None, |rule| rule.level),
            omitted,
            omit_managed_fields: rule
                .and_then(|rule| rule.omit_managed_fields)
                .unwrap_or(self.omit_managed_fields),
        }
    }
}

impl Rule {
    fn read(rule: &Value, path: &str, problems: &mut Vec<String>) -> Rule {
        let level = text_of(rule, "level");
        let known = LEVELS.iter().find(|(name, _)| *name == level);
        match known {
            Some(_) => {}
            None if level.is_empty() => problems.push(format!("{path}.level: Required value")),
            None => {
                let names = LEVELS.map(|(name, _)| quote(name)).join(", ");
                problems.push(format!(
                    "{path}.level: Unsupported value: {}: supported values: {names}",
                    quote(level)
                ));
            }
        }
        let paths = texts(rule, "nonResourceURLs");
        for (at, url) in paths.iter().enumerate().filter(|(_, url)| *url != "*") {
            let mut wrong = |why: &str| {
                let url = quote(url);
                problems.push(format!("{path}.nonResourceURLs[{at}]: Invalid value: {url}: {why}"));
            };
            if !url.starts_with('/') {
                wrong("non-resource URL rules must begin with a '/' character");
            }
            if url.char_indices().rev().skip(1).any(|(_, c)| c == '*') {
                wrong("non-resource URL wildcards '*' must be the final character of the rule");
            }
        }
        let mut resources = Vec::new();
        for of_group in list(rule, "resources") {
            let read = GroupResources {
                group: text_of(of_group, "group").to_owned(),
                resources: texts(of_group, "resources"),
                names: texts(of_group, "resourceNames"),
            };
            if !read.group.is_empty() && read.group != "*" && !names::is_dns1123_subdomain(&read.group) {
                let group = quote(&read.group);
                let why = names::dns1123_subdomain(&read.group).join(",");
                problems.push(format!("{path}.resources.group: Invalid value: {group}: {why}"));
            }
            if !read.names.is_empty() && read.resources.is_empty() {
                let names = serde_json::to_string(&read.names).unwrap_or_default();
                problems.push(format!(
                    "{path}.resources.resourceNames: Invalid value: {names}: using resourceNames requires at least one resource"
                ));
            }
            resources.push(read);
        }
        let omitted = stages(rule, &format!("{path}.omitStages"), problems);
        let namespaces = texts(rule, "namespaces");
        if !paths.is_empty() && (!resources.is_empty() || !namespaces.is_empty()) {
            let urls = serde_json::to_string(&paths).unwrap_or_default();
            problems.push(format!(
                "{path}.nonResourceURLs: Invalid value: {urls}: rules cannot apply to both regular resources and non-resource URLs"
            ));
        }
        Rule {
            level: known.map_or(AuditLevel::None, |(_, level)| *level),
            users: texts(rule, "users"),
            groups: texts(rule, "userGroups"),
            verbs: texts(rule, "verbs"),
            resources,
            namespaces,
            paths,
            omitted,
            omit_managed_fields: rule.get("omitManagedFields").and_then(Value::as_bool),
        }
    }

    fn fits(&self, user: Option<&User>, asked: &Attributes<'_>) -> bool {
        let is_in = |list: &[String], text: &str| list.is_empty() || list.iter().any(|item| item == text);
        if !self.users.is_empty() && !user.is_some_and(|user| self.users.contains(&user.name)) {
            return false;
        }
        if !self.groups.is_empty() && !user.is_some_and(|user| user.groups.iter().any(|of| self.groups.contains(of))) {
            return false;
        }
        if !is_in(&self.verbs, &asked.verb) {
            return false;
        }
        if !self.namespaces.is_empty() || !self.resources.is_empty() {
            return asked.is_resource
                && is_in(&self.namespaces, &asked.namespace)
                && (self.resources.is_empty() || self.resources.iter().any(|resources| resources.fits(asked)));
        }
        if !self.paths.is_empty() {
            return !asked.is_resource && self.paths.iter().any(|spec| is_path(spec, &asked.path));
        }
        true
    }
}

impl GroupResources {
    fn fits(&self, asked: &Attributes<'_>) -> bool {
        if self.group != asked.group && self.group != "*" {
            return false;
        }
        if self.resources.is_empty() {
            return true;
        }
        let is_named = self.names.is_empty() || self.names.iter().any(|name| *name == asked.name);
        let combined = asked.combined_resource();
        is_named
            && self.resources.iter().any(|resource| {
                *resource == combined
                    || resource == "*"
                    || (!asked.subresource.is_empty() && resource.strip_prefix("*/") == Some(&asked.subresource))
                    || resource.strip_suffix("/*") == Some(&asked.resource)
            })
    }
}

fn is_path(spec: &str, path: &str) -> bool {
    spec == "*" || spec == path || (spec.ends_with('*') && path.starts_with(spec.trim_end_matches('*')))
}

fn text_of<'v>(value: &'v Value, key: &str) -> &'v str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn list<'v>(value: &'v Value, key: &str) -> &'v [Value] {
    value.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn texts(value: &Value, key: &str) -> Vec<String> {
    let items = list(value, key).iter();
    items.filter_map(Value::as_str).map(str::to_owned).collect()
}

/// The stages of a list; `path` ends with its name.
fn stages(value: &Value, path: &str, problems: &mut Vec<String>) -> Vec<AuditStage> {
    let mut found = Vec::new();
    for (at, stage) in texts(value, "omitStages").iter().enumerate() {
        if let Some((_, known)) = STAGES.iter().find(|(name, _)| name == stage) {
            found.push(*known);
        } else {
            let names = STAGES.map(|(name, _)| name).join(",");
            let stage = quote(stage);
            problems.push(format!(
                "{path}[{at}]: Invalid value: {stage}: allowed stages are {names}"
            ));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(rules: &str) -> Result<AuditPolicy, String> {
        AuditPolicy::parse(&format!("apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: {rules}"))
    }

    #[test]
    fn the_first_rule_that_fits_decides() {
        let rules = r#"[{level: None, users: [jane]}, {level: Request, resources: [{group: "", resources: ["pods/*"]}]},
            {level: Metadata, nonResourceURLs: ["/api*"]}, {level: RequestResponse, resources: [{group: "*", resources: ["*/scale"]}]}]"#;
        let policy = policy(rules).unwrap();
        let level = |user: &str, asked: &Attributes<'_>| policy.of(Some(&User::new(user, ["x"])), asked).level;
        let pods = Attributes::resource("get", "", "pods");
        assert_eq!(level("jane", &pods), AuditLevel::None);
        assert_eq!(level("joe", &pods), AuditLevel::Request);
        assert_eq!(level("joe", &pods.clone().part("log")), AuditLevel::Request);
        assert_eq!(
            level("joe", &Attributes::resource("get", "apps", "deployments")),
            AuditLevel::None
        );
        let scale = Attributes::resource("get", "apps", "deployments").part("scale");
        assert_eq!(level("joe", &scale), AuditLevel::RequestResponse);
        assert_eq!(level("joe", &Attributes::path("get", "/apis")), AuditLevel::Metadata);
        assert_eq!(level("joe", &Attributes::path("get", "/version")), AuditLevel::None);
    }

    #[test]
    fn what_is_wrong_is_said_in_the_words_of_the_real_one() {
        for (rules, why) in [
            ("[]", "loaded illegal policy with 0 rules"),
            ("[{}]", "rules[0].level: Required value"),
            (
                "[{level: None, nonResourceURLs: [a]}]",
                "rules[0].nonResourceURLs[0]: Invalid value: \"a\": non-resource URL rules must begin with a '/' character",
            ),
            (
                "[{level: None, omitStages: [x]}]",
                "rules[0].omitStages[0]: Invalid value: \"x\": allowed stages are RequestReceived,ResponseStarted,ResponseComplete,Panic",
            ),
        ] {
            assert_eq!(policy(rules).unwrap_err(), why);
        }
        assert!(
            AuditPolicy::parse("kind: Policy")
                .unwrap_err()
                .contains("'apiVersion' is missing")
        );
    }
}
