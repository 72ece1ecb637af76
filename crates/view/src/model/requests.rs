//! What was asked of the API server, by whom and with what answer; and what that says of the operator's rights.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use kubewright_description::Description;
use kubewright_manifests::rules::check::{Origin, Request, check, in_words};
use kubewright_runtime::trace::ApiCall;
use serde_json::{Value, json};

use super::asked::{self, TRACED_OPERATOR};

/// More different requests are counted together.
const MOST: usize = 2000;

#[derive(Debug, Default)]
pub(crate) struct Requests {
    counts: BTreeMap<Counted, u64>,
    /// What the operator asked for, each once.
    of_operator: HashMap<OperatorRequest, Request>,
    /// Who the operator is, and how it describes itself, if it does.
    operator: Option<(String, Option<Arc<Description>>)>,
    /// What that says of its rights, as it was found out last.
    rights: Rights,
    /// Whether the operator asked for something else since then, or is another.
    is_unchecked: bool,
    /// Whether they come from the API server's audit trail. If not, they are those of the operator's trace.
    is_audited: bool,
    change: u64,
}

/// What has to be known to say something of the operator's rights. That takes its time, so it is done where nobody waits for the model.
#[derive(Debug)]
pub(crate) struct RightsCheck {
    description: Arc<Description>,
    requests: Vec<Request>,
}

/// Rights that the operator lacks, and those that it never used, in words.
#[derive(Debug, Default)]
pub(crate) struct Rights {
    missing: Vec<String>,
    unused: Vec<String>,
    used: Vec<String>,
}

impl RightsCheck {
    /// Compares what is granted with what was asked for.
    pub(crate) fn rights(&self) -> Rights {
        let report = check(&self.description, &self.requests);
        // What follows from declarations is in use as soon as the caches are.
        let unused = report.unused.iter().filter(|unused| unused.origin == Origin::Written);
        Rights {
            missing: report.denied.iter().map(ToString::to_string).collect(),
            unused: unused.map(ToString::to_string).collect(),
            used: report.used.iter().map(in_words).collect(),
        }
    }
}

/// A request that was answered.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) request: Request,
    pub(crate) code: u16,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Counted {
    user: String,
    verb: String,
    /// `deployments.apps/status`, or a path.
    what: String,
    code: u16,
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct OperatorRequest {
    verb: String,
    what: String,
    namespace: String,
    name: String,
    allowed: bool,
}

impl Requests {
    /// The operator is this user, and describes itself so.
    pub(crate) fn operator(&mut self, user: String, description: Description) {
        self.set(user, Some(description));
    }

    /// The operator is this user, and does not say which rights it needs.
    pub(crate) fn operator_user(&mut self, user: String) {
        self.set(user, None);
    }

    fn set(&mut self, user: String, description: Option<Description>) {
        if self.operator.as_ref().is_some_and(|(known, _)| *known != user) {
            self.of_operator.clear();
        }
        self.operator = Some((user, description.map(Arc::new)));
        self.is_unchecked = true;
        self.change += 1;
    }

    /// From now on they come from the API server's audit trail, which has those of everybody.
    pub(crate) fn audited(&mut self) {
        self.is_audited = true;
    }

    /// The operator recorded a request in its trace. The audit trail has it, too, where there is one.
    pub(crate) fn traced(&mut self, call: &ApiCall) {
        if self.is_audited {
            return;
        }
        let description = self
            .operator
            .as_ref()
            .and_then(|(_, description)| description.as_deref());
        let asked = asked::by_operator(call, description);
        self.take(asked);
    }

    pub(crate) fn take(&mut self, asked: Asked) {
        self.change += 1;
        let request = asked.request;
        let mut counted = Counted {
            user: request.user.clone(),
            verb: request.verb.clone(),
            what: what(&request),
            code: asked.code,
        };
        if self.counts.len() >= MOST && !self.counts.contains_key(&counted) {
            "…".clone_into(&mut counted.what);
        }
        *self.counts.entry(counted).or_default() += 1;
        let operator = self.operator.as_ref().map_or(TRACED_OPERATOR, |(user, _)| user);
        if operator != request.user {
            return;
        }
        // An apply or an update that created its object needs the right to create, too.
        let is_creation = asked.code == 201 && matches!(&*request.verb, "patch" | "update");
        let creation = is_creation.then(|| Request {
            verb: "create".to_owned(),
            ..request.clone()
        });
        for request in [Some(request), creation].into_iter().flatten() {
            let key = OperatorRequest {
                verb: request.verb.clone(),
                what: what(&request),
                namespace: request.namespace.clone(),
                name: request.name.clone(),
                allowed: request.allowed,
            };
            if self.of_operator.len() < MOST && !self.of_operator.contains_key(&key) {
                self.of_operator.insert(key, request);
                self.is_unchecked = true;
            }
        }
    }

    /// What is to be compared, if there is something that was not: what the operator does again and again is looked at once.
    pub(crate) fn take_check(&mut self) -> Option<RightsCheck> {
        let (_, description) = self.operator.as_ref()?;
        let description = Arc::clone(description.as_ref()?);
        std::mem::take(&mut self.is_unchecked).then(|| RightsCheck {
            description,
            requests: self.of_operator.values().cloned().collect(),
        })
    }

    /// Takes what the comparison came to.
    pub(crate) fn checked(&mut self, rights: Rights) {
        self.rights = rights;
        self.change += 1;
    }

    /// Everything, if something changed after a change.
    pub(crate) fn since(&self, seen: u64) -> Option<(u64, Value)> {
        if self.change <= seen {
            return None;
        }
        let requests: Vec<Value> = self.counts.iter().map(Counted::told).collect();
        let mut part = json!({ "requests": requests, "traced": !self.is_audited });
        if let Some((user, description)) = &self.operator {
            part["operator"] = user.as_str().into();
            if description.is_some() {
                part["missing"] = json!(self.rights.missing);
                part["unused"] = json!(self.rights.unused);
                part["used"] = json!(self.rights.used);
            }
        }
        Some((self.change, part))
    }
}

impl Counted {
    fn told((counted, count): (&Counted, &u64)) -> Value {
        json!({ "user": counted.user, "verb": counted.verb, "what": counted.what, "code": counted.code, "count": count })
    }
}

fn what(request: &Request) -> String {
    if request.resource.is_empty() {
        return request.path.clone();
    }
    let mut what = request.resource.clone();
    if !request.group.is_empty() {
        what = format!("{what}.{}", request.group);
    }
    if !request.subresource.is_empty() {
        what = format!("{what}/{}", request.subresource);
    }
    what
}

#[cfg(test)]
mod tests {
    use kubewright_description::Rule;

    use super::*;

    fn asked(user: &str, verb: &str, resource: &str, code: u16) -> Asked {
        Asked {
            request: Request {
                user: user.to_owned(),
                verb: verb.to_owned(),
                group: "apps".to_owned(),
                resource: resource.to_owned(),
                namespace: "shop".to_owned(),
                name: "web".to_owned(),
                allowed: code != 403,
                ..Request::default()
            },
            code,
        }
    }

    fn description() -> Description {
        let mut description: Description = serde_json::from_value(json!({
            "version": kubewright_description::VERSION, "name": "shop", "controllers": [], "rules": [],
        }))
        .unwrap();
        description.rules = vec![Rule::new(["apps"], ["deployments"], ["create", "delete", "patch"])];
        description
    }

    #[test]
    fn what_the_operator_may_not_and_what_it_never_did_is_told_in_words() {
        let mut requests = Requests::default();
        requests.operator("shop".to_owned(), description());
        // It was created by an apply.
        requests.take(asked("shop", "patch", "deployments", 201));
        requests.take(asked("shop", "list", "daemonsets", 403));
        requests.take(asked("kubectl", "list", "statefulsets", 403));
        let rights = requests.take_check().unwrap().rights();
        requests.checked(rights);
        let (change, told) = requests.since(0).unwrap();
        let missing = told["missing"].as_array().unwrap();
        assert_eq!(missing.len(), 1, "{told}");
        let words = missing[0].as_str().unwrap();
        assert!(
            words.starts_with("once denied: list of daemonsets.apps") && words.contains("#[rbac("),
            "{words}"
        );
        assert_eq!(
            told["unused"],
            json!(["never used: delete of deployments.apps; take it out of its `#[rbac(…)]` or `.rule(…)`"])
        );
        assert_eq!(told["used"], json!(["create, patch of deployments.apps"]));
        assert_eq!(told["requests"].as_array().unwrap().len(), 3);
        assert!(requests.since(change).is_none());
        // The same again is no reason to compare again; something else is.
        requests.take(asked("shop", "list", "daemonsets", 403));
        requests.take(asked("kubectl", "get", "daemonsets", 200));
        assert!(requests.take_check().is_none());
        requests.take(asked("shop", "delete", "deployments", 200));
        assert!(requests.take_check().unwrap().rights().unused.is_empty());
    }

    fn call(verb: &str, target: &str, code: u16) -> ApiCall {
        serde_json::from_value(json!({
            "verb": verb, "target": target, "dryRun": false, "sent": null, "code": code, "error": null, "cached": null, "revision": null,
            "changes": [], "took": 0.1,
        }))
        .unwrap()
    }

    #[test]
    fn without_an_audit_trail_the_trace_says_what_the_operator_asked_for() {
        let mut requests = Requests::default();
        // Before it is known which rights it has.
        requests.traced(&call("apply", "Deployment.apps shop/web", 201));
        requests.operator(TRACED_OPERATOR.to_owned(), description());
        requests.traced(&call("list", "DaemonSet.apps in namespace shop", 403));
        let rights = requests.take_check().unwrap().rights();
        requests.checked(rights);
        let (_, told) = requests.since(0).unwrap();
        assert_eq!(told["operator"], TRACED_OPERATOR);
        assert_eq!(told["traced"], true);
        assert_eq!(told["used"], json!(["create, patch of deployments.apps"]));
        let missing = told["missing"][0].as_str().unwrap();
        assert!(
            missing.starts_with("once denied: list of daemonsets.apps (namespace shop)"),
            "{missing}"
        );
        assert_eq!(told["unused"].as_array().unwrap().len(), 1);
        // Where there is an audit trail, nothing is counted twice.
        requests.audited();
        requests.traced(&call("delete", "Deployment.apps shop/web", 200));
        assert!(requests.take_check().is_none());
    }

    #[test]
    fn requests_are_counted_by_who_what_and_answer_within_bounds() {
        let mut requests = Requests::default();
        for _ in 0..3 {
            requests.take(asked("shop", "get", "deployments", 200));
        }
        requests.take(asked("shop", "get", "deployments", 404));
        let (_, told) = requests.since(0).unwrap();
        assert_eq!(
            told["requests"][0],
            json!({ "user": "shop", "verb": "get", "what": "deployments.apps", "code": 200, "count": 3 })
        );
        assert_eq!(told["requests"][1]["code"], 404);
        for number in 0..2 * MOST {
            requests.take(asked("shop", "get", &format!("r{number}"), 200));
        }
        assert!(requests.counts.len() <= MOST + 1);
    }
}
