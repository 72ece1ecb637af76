//! Compares the rules of an operator with the requests of a test run: requests that were denied, and rules that were not used.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Write as _};

use kubewright_description::{Description, Rule};
use serde::{Deserialize, Serialize};

use super::grant::{Grant, Right, covers, grants};
use super::minimal;

/// A request that an operator made, as a server's audit has it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Request {
    /// Who asked.
    pub user: String,
    /// The verb.
    pub verb: String,
    /// The API group; the core group is empty.
    pub group: String,
    /// The resource; empty where a path was asked for.
    pub resource: String,
    /// Its part: `status`.
    pub subresource: String,
    /// The namespace.
    pub namespace: String,
    /// The object.
    pub name: String,
    /// The path, where it was no resource.
    pub path: String,
    /// Whether it was allowed.
    pub allowed: bool,
}

impl Request {
    fn grant(&self) -> Grant {
        Grant {
            namespace: Some(self.namespace.clone()).filter(|namespace| !namespace.is_empty()),
            right: self.right(),
        }
    }

    fn right(&self) -> Right {
        if self.resource.is_empty() {
            return Right::Path {
                path: self.path.clone(),
                verb: self.verb.clone(),
            };
        }
        let resource = match self.subresource.as_str() {
            "" => self.resource.clone(),
            part => format!("{}/{part}", self.resource),
        };
        Right::Resource {
            group: self.group.clone(),
            resource,
            name: self.name.clone(),
            verb: self.verb.clone(),
        }
    }
}

/// Why a rule is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// It follows from a declaration: a kind that is reconciled, owned, watched or read. The cache lists and watches it.
    Declared,
    /// The toolkit needs it: to write events, to elect a leader, to keep certificates.
    Toolkit,
    /// Somebody wrote it, with `#[rbac(…)]` or `.rule(…)`.
    Written,
}

/// Requests that were refused for want of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Denied {
    /// The rule that is missing.
    pub rule: Rule,
    /// The line that adds it, to be written above `impl Reconciler`.
    pub attribute: String,
    /// The namespaces where it was asked for; empty for what is in none.
    pub namespaces: Vec<String>,
    /// Who asked.
    pub users: Vec<String>,
    /// How many requests were refused.
    pub requests: usize,
    /// The operator's rules grant it already: the role that was in force is older than they are, or does not reach that
    /// namespace.
    pub granted_by_now: bool,
}

impl fmt::Display for Denied {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let times = if self.requests == 1 { "once" } else { "repeatedly" };
        write!(f, "{times} denied: {}", in_words(&self.rule))?;
        if !self.namespaces.is_empty() {
            write!(f, " (namespace {})", self.namespaces.join(", "))?;
        }
        if self.granted_by_now {
            return write!(
                f,
                "; the rules grant it, but the role in force did not: run `kubewright manifests` and install it again"
            );
        }
        write!(f, "; add {}", self.attribute)
    }
}

/// A rule, or the part of one, that no request needed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unused {
    /// What was not needed.
    pub rule: Rule,
    /// Why it is there.
    pub origin: Origin,
}

impl fmt::Display for Unused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "never used: {}", in_words(&self.rule))?;
        match self.origin {
            Origin::Written => write!(f, "; take it out of its `#[rbac(…)]` or `.rule(…)`"),
            Origin::Declared => write!(f, " (follows from a kind that is declared to be read)"),
            Origin::Toolkit => write!(f, " (the toolkit itself may need it)"),
        }
    }
}

/// The result of the comparison.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// What was refused.
    pub denied: Vec<Denied>,
    /// What was never used.
    pub unused: Vec<Unused>,
    /// What was used of what the rules grant.
    pub used: Vec<Rule>,
}

impl Report {
    /// Nothing was refused, and everything that somebody wrote was used.
    pub fn is_clean(&self) -> bool {
        self.denied.is_empty() && self.unused.iter().all(|unused| unused.origin != Origin::Written)
    }
}

/// Compares an operator's rules with what it asked for. Requests of others are not to be among them.
///
/// ```
/// use kubewright_manifests::rules::check::{Request, check};
/// use kubewright_runtime::operator::{Operator, Rule};
///
/// let operator = Operator::new("shop").rule(Rule::new([""], ["pods"], ["delete", "patch"])).describe();
/// let asked = Request { verb: "patch".into(), resource: "pods".into(), allowed: true, ..Request::default() };
/// let report = check(&operator, &[asked]);
/// assert!(report.denied.is_empty());
/// assert_eq!(report.unused[0].rule, Rule::new([""], ["pods"], ["delete"]));
/// assert_eq!(report.used, [Rule::new([""], ["pods"], ["patch"])]);
/// ```
pub fn check(operator: &Description, requests: &[Request]) -> Report {
    let (used, unused) = by_use(operator, requests);
    Report {
        denied: denied(operator, requests),
        unused,
        used,
    }
}

fn denied(operator: &Description, requests: &[Request]) -> Vec<Denied> {
    let held: Vec<Grant> = all_rules(operator).flat_map(grants).collect();
    // One rule per resource with all its verbs, for all names: objects come and go.
    let mut missing: BTreeMap<(bool, String, String), Vec<&Request>> = BTreeMap::new();
    for request in requests.iter().filter(|request| !request.allowed) {
        let granted_by_now = held.iter().any(|grant| covers(grant, &request.grant()));
        let (group, resource) = match request.right() {
            Right::Path { path, .. } => (path, String::new()),
            Right::Resource { group, resource, .. } => (group, resource),
        };
        missing
            .entry((granted_by_now, group, resource))
            .or_default()
            .push(request);
    }
    let denied = missing
        .into_iter()
        .map(|((granted_by_now, group, resource), requests)| {
            let of = |part: fn(&Request) -> &str| -> Vec<String> {
                let parts: BTreeSet<&str> = requests.iter().map(|request| part(request)).collect();
                parts
                    .into_iter()
                    .filter(|part| !part.is_empty())
                    .map(str::to_owned)
                    .collect()
            };
            let verbs = in_order(of(|request| &request.verb));
            let rule = if resource.is_empty() {
                Rule::urls([group], verbs)
            } else {
                Rule::new([group], [resource], verbs)
            };
            Denied {
                attribute: attribute(&rule),
                rule,
                namespaces: of(|request| &request.namespace),
                users: of(|request| &request.user),
                requests: requests.len(),
                granted_by_now,
            }
        });
    denied.collect()
}

/// The rules of the manager's role, as far as they were used and as far as they were not.
fn by_use(operator: &Description, requests: &[Request]) -> (Vec<Rule>, Vec<Unused>) {
    let asked: Vec<Grant> = requests
        .iter()
        .filter(|request| request.allowed)
        .map(Request::grant)
        .collect();
    let mut origins: BTreeMap<Grant, Origin> = BTreeMap::new();
    for (rule, origin) in with_origins(operator) {
        for grant in grants(rule) {
            // A rule that a user wrote although a declaration implies it counts as declared.
            let known = origins.entry(grant).or_insert(origin);
            *known = (*known).min(origin);
        }
    }
    let mut unused_grants: BTreeMap<Origin, Vec<Rule>> = BTreeMap::new();
    let mut used_grants = Vec::new();
    for (grant, origin) in origins {
        if asked.iter().any(|asked| covers(&grant, asked)) {
            used_grants.push(grant.rule());
        } else {
            unused_grants.entry(origin).or_default().push(grant.rule());
        }
    }
    let unused = unused_grants.into_iter().rev().flat_map(|(origin, rules)| {
        let rules = minimal(&rules).into_iter();
        rules.map(move |mut rule| {
            rule.verbs = in_order(rule.verbs);
            Unused { rule, origin }
        })
    });
    let mut used = minimal(&used_grants);
    for rule in &mut used {
        rule.verbs = in_order(std::mem::take(&mut rule.verbs));
    }
    (used, unused.collect())
}

/// The rules of the manager's role, each with why it is there.
///
/// A description lists first what follows from declarations: rules that read, in the verbs of a cache or of a client without one.
fn with_origins(operator: &Description) -> impl Iterator<Item = (&Rule, Origin)> {
    let reads = |rule: &&Rule| rule.verbs == ["get", "list", "watch"] || rule.verbs == ["get", "list"];
    let declared = operator.rules.iter().take_while(reads).count();
    operator.rules.iter().enumerate().map(move |(at, rule)| {
        let is_events = rule.api_groups == ["events.k8s.io"] && rule.resources == ["events"];
        let origin = if at < declared {
            Origin::Declared
        } else if is_events {
            Origin::Toolkit
        } else {
            Origin::Written
        };
        (rule, origin)
    })
}

fn all_rules(operator: &Description) -> impl Iterator<Item = &Rule> {
    let lists = [
        &operator.rules,
        &operator.leader_election_rules,
        &operator.metrics_auth_rules,
        &operator.certificate_rules,
        &operator.certificate_namespace_rules,
    ];
    lists.into_iter().flatten()
}

/// Verbs in their customary order.
fn in_order(mut verbs: Vec<String>) -> Vec<String> {
    const ORDER: [&str; 8] = [
        "get",
        "list",
        "watch",
        "create",
        "update",
        "patch",
        "delete",
        "deletecollection",
    ];
    verbs.sort_by_key(|verb| {
        let place = ORDER.iter().position(|known| known == verb);
        (place.unwrap_or(ORDER.len()), verb.clone())
    });
    verbs
}

/// A rule as an attribute has it.
pub fn attribute(rule: &Rule) -> String {
    let mut parts = Vec::new();
    let mut part = |key: &str, values: &[String]| parts.push(format!("{key} = {:?}", values.join(", ")));
    if rule.non_resource_urls.is_empty() {
        part("groups", &rule.api_groups);
        part("resources", &rule.resources);
        if !rule.resource_names.is_empty() {
            part("names", &rule.resource_names);
        }
    } else {
        part("urls", &rule.non_resource_urls);
    }
    part("verbs", &rule.verbs);
    if let Some(namespace) = &rule.namespace {
        part("namespace", std::slice::from_ref(namespace));
    }
    format!("#[rbac({})]", parts.join(", "))
}

/// A rule in words: `get, list of deployments.apps`.
pub fn in_words(rule: &Rule) -> String {
    let verbs = rule.verbs.join(", ");
    if !rule.non_resource_urls.is_empty() {
        return format!("{verbs} of {}", rule.non_resource_urls.join(", "));
    }
    let mut resources = Vec::new();
    for group in &rule.api_groups {
        for resource in &rule.resources {
            resources.push(match (group.as_str(), resource.split_once('/')) {
                ("", _) => resource.clone(),
                (group, None) => format!("{resource}.{group}"),
                (group, Some((resource, part))) => format!("{resource}.{group}/{part}"),
            });
        }
    }
    let mut words = format!("{verbs} of {}", resources.join(", "));
    if !rule.resource_names.is_empty() {
        let _ = write!(words, " named {}", rule.resource_names.join(", "));
    }
    if let Some(namespace) = &rule.namespace {
        let _ = write!(words, " in {namespace}");
    }
    words
}
