//! Impersonation (Z3): the modes of constrained impersonation, tried in upstream's order, and the older verb `impersonate`.

use std::collections::HashMap;

use kubewright_apimachinery::errors::aggregate;
use kubewright_apimachinery::go::quote;
use kubewright_apimachinery::go::quote::list_syntax;
use kubewright_apimachinery::names::is_dns1123_subdomain;
use parking_lot::Mutex;

use crate::attributes::Attributes;
use crate::decision::{Decision, Forbidden};
use crate::go;
use crate::user::split_service_account;
use crate::user::{ANONYMOUS, AUTHENTICATED, MASTERS, UNAUTHENTICATED, User, account_groups};

/// From this many groups or extras on, one check for all of them (`*`) comes first.
const MANY: usize = 4;
/// The extra in which a service account's token names the node it is bound to.
const NODE_NAME: &str = "authentication.kubernetes.io/node-name";
const AUTHENTICATION: &str = "authentication.k8s.io";

/// The user that a request impersonates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Impersonated {
    /// The user.
    pub user: User,
    /// The verb that allowed it; empty for the old `impersonate`.
    pub constraint: String,
}

/// The mode that last succeeded for a user, by name: it is tried first the next time, and its refusal is reported first.
#[derive(Debug, Default)]
pub struct Modes(Mutex<HashMap<String, Mode>>);

/// The most users whose modes are kept.
const MOST_USERS: usize = 10_000;

impl Modes {
    fn last(&self, user: &str) -> Option<Mode> {
        self.0.lock().get(user).copied()
    }

    fn remember(&self, user: &str, mode: Mode) {
        let mut modes = self.0.lock();
        if let Some(known) = modes.get_mut(user) {
            *known = mode;
            return;
        }
        if modes.len() >= MOST_USERS {
            modes.clear();
        }
        modes.insert(user.to_owned(), mode);
    }
}

/// Whether a request of `requestor` for `asked` may act as `wanted` (headers as they are: no groups added).
///
/// `decide` is the authorizer. The error is the first refusal.
pub fn impersonate(
    modes: &Modes,
    requestor: &User,
    wanted: &User,
    asked: &Attributes<'_>,
    decide: &dyn Fn(&User, &Attributes<'_>) -> Decision,
) -> Result<Impersonated, Forbidden> {
    const ALL: [Mode; 5] = [
        Mode::AssociatedNode,
        Mode::ArbitraryNode,
        Mode::ServiceAccount,
        Mode::UserInfo,
        Mode::Legacy,
    ];
    let last = modes.last(&requestor.name);
    let others = ALL.into_iter().filter(|mode| Some(*mode) != last);
    let mut first = None;
    for mode in last.into_iter().chain(others) {
        if !mode.applies(wanted, requestor) {
            continue;
        }
        let attempt = Attempt {
            mode,
            requestor,
            decide,
        };
        match attempt.check(wanted, asked) {
            Ok(impersonated) => {
                if last != Some(mode) {
                    modes.remember(&requestor.name, mode);
                }
                return Ok(impersonated);
            }
            Err(refusal) => first = first.or(Some(refusal)),
        }
    }
    // The last mode applies to everybody, so there is a refusal.
    Err(first.unwrap_or_else(|| Forbidden::new(&requestor.name, asked, "")))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    AssociatedNode,
    ArbitraryNode,
    ServiceAccount,
    UserInfo,
    Legacy,
}

impl Mode {
    fn name(self) -> &'static str {
        match self {
            Mode::AssociatedNode => "associated-node",
            Mode::ArbitraryNode => "arbitrary-node",
            Mode::ServiceAccount => "serviceaccount",
            Mode::UserInfo => "user-info",
            Mode::Legacy => "",
        }
    }

    fn verb(self) -> String {
        match self {
            Mode::Legacy => "impersonate".into(),
            mode => format!("impersonate:{}", mode.name()),
        }
    }

    fn applies(self, wanted: &User, requestor: &User) -> bool {
        let is_name_only = wanted.uid.is_empty() && wanted.groups.is_empty() && wanted.extra.is_empty();
        let node = node_name(&wanted.name);
        let is_account = split_service_account(&wanted.name).is_some();
        match self {
            Mode::AssociatedNode => {
                let own = requestor.extra.get(NODE_NAME).map(Vec::as_slice);
                is_name_only
                    && split_service_account(&requestor.name).is_some()
                    && node.is_some_and(|node| matches!(own, Some([own]) if own == node))
            }
            Mode::ArbitraryNode => is_name_only && node.is_some(),
            Mode::ServiceAccount => is_name_only && is_account,
            Mode::UserInfo => node.is_none() && !is_account,
            Mode::Legacy => true,
        }
    }
}

/// The name of the node, if the user's name is that of a node.
fn node_name(user: &str) -> Option<&str> {
    user.strip_prefix("system:node:")
        .filter(|name| is_dns1123_subdomain(name))
}

struct Attempt<'a> {
    mode: Mode,
    requestor: &'a User,
    decide: &'a dyn Fn(&User, &Attributes<'_>) -> Decision,
}

impl Attempt<'_> {
    fn check(&self, wanted: &User, asked: &Attributes<'_>) -> Result<Impersonated, Forbidden> {
        let is_constrained = self.mode != Mode::Legacy;
        if is_constrained {
            let mut on = asked.clone();
            on.verb = format!("impersonate-on:{}:{}", self.mode.name(), asked.verb).into();
            self.ask(&on)?;
        }
        let mut user = wanted.clone();
        self.username(wanted, &mut user)?;
        if !wanted.uid.is_empty() {
            self.ask(&self.about(AUTHENTICATION, "uids").named(wanted.uid.as_str()))?;
        }
        self.groups(&wanted.groups)?;
        self.extra(wanted)?;
        if user.name == ANONYMOUS {
            user.join(UNAUTHENTICATED);
        } else if !user.is_in(UNAUTHENTICATED) {
            user.join(AUTHENTICATED);
        }
        Ok(Impersonated {
            user,
            constraint: if is_constrained {
                self.mode.verb()
            } else {
                String::new()
            },
        })
    }

    fn about(&self, group: &'static str, resource: &'static str) -> Attributes<'static> {
        let mut attributes = Attributes::resource(self.mode.verb(), group, resource);
        attributes.version = "v1".into();
        attributes
    }

    /// With the older verb, users and groups are in the core group.
    fn group(&self) -> &'static str {
        if self.mode == Mode::Legacy { "" } else { AUTHENTICATION }
    }

    fn ask(&self, asked: &Attributes<'_>) -> Result<(), Forbidden> {
        let decision = (self.decide)(self.requestor, asked);
        if decision.allowed {
            Ok(())
        } else {
            Err(Forbidden::of(self.requestor, asked, &decision))
        }
    }

    fn refuse(&self, asked: &Attributes<'_>, why: &str) -> Result<(), Forbidden> {
        Err(Forbidden::new(&self.requestor.name, asked, why))
    }

    fn username(&self, wanted: &User, user: &mut User) -> Result<(), Forbidden> {
        let mut asked = self.about(self.group(), "users").named(wanted.name.clone());
        if let Some(node) = node_name(&wanted.name).filter(|_| self.mode != Mode::Legacy) {
            // A token for any node of its own must be good for each of them.
            let name = if self.mode == Mode::AssociatedNode { "*" } else { node };
            asked = self.about(self.group(), "nodes").named(name.to_owned());
            user.groups = vec!["system:nodes".into()];
        }
        if let Some((namespace, name)) = split_service_account(&wanted.name) {
            asked = self
                .about(self.group(), "serviceaccounts")
                .in_namespace(namespace.to_owned())
                .named(name.to_owned());
            if wanted.groups.is_empty() {
                user.groups = account_groups(namespace).into();
            }
        }
        self.ask(&asked)
    }

    fn groups(&self, groups: &[String]) -> Result<(), Forbidden> {
        let asked = self.about(self.group(), "groups");
        if self.mode != Mode::Legacy {
            if groups.iter().any(String::is_empty) {
                return self.refuse(&asked, "impersonating the empty string group is not allowed");
            }
            if groups.iter().any(|group| group == MASTERS) {
                let asked = asked.named(MASTERS);
                return self.refuse(&asked, "impersonating the system:masters group is not allowed");
            }
            if groups.len() >= MANY && self.ask(&asked.clone().named("*")).is_ok() {
                return Ok(());
            }
        }
        groups
            .iter()
            .try_for_each(|group| self.ask(&asked.clone().named(group.as_str())))
    }

    fn extra(&self, wanted: &User) -> Result<(), Forbidden> {
        let asked = self.about(AUTHENTICATION, "userextras");
        if self.mode != Mode::Legacy {
            for (key, values) in &wanted.extra {
                if let Some(why) = extra_fault(key, values) {
                    return self.refuse(&asked, &why);
                }
            }
            let count: usize = wanted.extra.values().map(Vec::len).sum();
            if (wanted.extra.len() >= MANY || count >= MANY) && self.ask(&asked.clone().part("*").named("*")).is_ok() {
                return Ok(());
            }
        }
        for (key, values) in &wanted.extra {
            for value in values {
                self.ask(&asked.clone().part(key.as_str()).named(value.as_str()))?;
            }
        }
        Ok(())
    }
}

/// What is wrong with an extra of a user.
fn extra_fault(key: &str, values: &[String]) -> Option<String> {
    if key.is_empty() {
        return Some("impersonating the empty string key in extra is not allowed".into());
    }
    if let Some(fault) = path_fault(key) {
        return Some(format!("impersonating an invalid key in extra is not allowed: {fault}"));
    }
    if key != key.to_lowercase() {
        return Some(format!(
            "impersonating a non-lowercase key in extra is not allowed: {}",
            quote(key)
        ));
    }
    if values.is_empty() {
        return Some("impersonating empty values in extra is not allowed".into());
    }
    values
        .iter()
        .any(String::is_empty)
        .then(|| "impersonating the empty string value in extra is not allowed".into())
}

/// What is wrong with a path that has a domain before it, in the words of upstream's validation.
fn path_fault(key: &str) -> Option<String> {
    let invalid = |value: &str, detail: &str| format!("extra.key: Invalid value: {}: {detail}", quote(value));
    let Some((domain, path)) = key
        .split_once('/')
        .filter(|(domain, path)| !domain.is_empty() && !path.is_empty())
    else {
        return Some(invalid(key, "must be a domain-prefixed path (such as \"acme.io/foo\")"));
    };
    let mut faults = Vec::new();
    if !is_dns1123_subdomain(domain) {
        faults.push(invalid(
            domain,
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must \
             start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is \
             '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
        ));
    }
    let is_fit = |c: char| c.is_ascii_alphanumeric() || "/-._~%!$&'()*+,;=:".contains(c);
    if !path.chars().all(is_fit) {
        faults.push(invalid(
            path,
            "Invalid path (regex used for validation is '[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+')",
        ));
    }
    aggregate(faults)
}

impl User {
    /// How Go prints the user that headers describe, in the refusal of headers without a name.
    pub fn go_syntax(&self) -> String {
        format!(
            "&user.DefaultInfo{{Name:{}, UID:{}, Groups:{}, Extra:{}}}",
            quote(&self.name),
            quote(&self.uid),
            list_syntax(&self.groups),
            go::map(&self.extra)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn deciding(allowed: &'static [&'static str]) -> impl Fn(&User, &Attributes<'_>) -> Decision {
        move |_, asked| {
            let text = format!("{} {} {}", asked.verb, asked.combined_resource(), asked.name);
            if allowed.contains(&text.as_str()) {
                Decision::ALLOWED
            } else {
                Decision::DENIED
            }
        }
    }

    fn wanted(name: &str) -> User {
        User {
            name: name.into(),
            ..User::default()
        }
    }

    #[test]
    fn the_first_mode_that_applies_words_the_refusal() {
        let (jane, asked) = (User::new("jane", ["staff"]), Attributes::resource("list", "", "pods"));
        let refusal = |wanted: &User| {
            let refused = impersonate(&Modes::default(), &jane, wanted, &asked, &deciding(&[]));
            refused.unwrap_err().why
        };
        let sentence = |mode: &str| {
            format!(
                "User \"jane\" cannot impersonate-on:{mode}:list resource \"pods\" in API group \"\" at the cluster scope"
            )
        };
        assert_eq!(refusal(&wanted("joe")), sentence("user-info"));
        assert_eq!(refusal(&wanted("system:node:n")), sentence("arbitrary-node"));
        assert_eq!(
            refusal(&wanted("system:serviceaccount:a:b")),
            sentence("serviceaccount")
        );
    }

    #[test]
    fn the_mode_that_succeeded_last_is_tried_first() {
        let (jane, asked) = (User::new("jane", ["staff"]), Attributes::resource("list", "", "pods"));
        let modes = Modes::default();
        let decide = deciding(&["impersonate users joe"]);
        let as_joe = impersonate(&modes, &jane, &wanted("joe"), &asked, &decide).unwrap();
        assert_eq!((&*as_joe.user.name, &*as_joe.constraint), ("joe", ""));
        assert_eq!(as_joe.user.groups, [AUTHENTICATED]);
        let refused = impersonate(&modes, &jane, &wanted("jim"), &asked, &decide).unwrap_err();
        assert!(
            refused.why.contains("cannot impersonate resource \"users\""),
            "{}",
            refused.why
        );
    }

    #[test]
    fn a_constrained_impersonator_needs_permission_for_the_user_and_the_request() {
        let (jane, asked) = (User::new("jane", ["staff"]), Attributes::resource("list", "", "pods"));
        let attempt = |decide: &dyn Fn(&User, &Attributes<'_>) -> Decision, name: &str| {
            impersonate(&Modes::default(), &jane, &wanted(name), &asked, decide)
        };
        let both = deciding(&[
            "impersonate-on:serviceaccount:list pods ",
            "impersonate:serviceaccount serviceaccounts b",
        ]);
        let account = attempt(&both, "system:serviceaccount:a:b").unwrap();
        assert_eq!(account.constraint, "impersonate:serviceaccount");
        assert_eq!(account.user, User::service_account("a", "b"));
        assert!(attempt(&both, "system:serviceaccount:a:c").is_err());
        let only_the_user = deciding(&["impersonate:serviceaccount serviceaccounts b"]);
        assert!(attempt(&only_the_user, "system:serviceaccount:a:b").is_err());
    }

    #[test]
    fn nobody_becomes_a_master_by_constrained_impersonation() {
        let everything = |_: &User, asked: &Attributes<'_>| {
            // All modes but the older verb.
            if asked.verb == "impersonate" {
                Decision::DENIED
            } else {
                Decision::ALLOWED
            }
        };
        let mut master = wanted("joe");
        master.groups = vec![MASTERS.into()];
        let asked = Attributes::path("get", "/");
        let refused = impersonate(
            &Modes::default(),
            &User::new("jane", ["staff"]),
            &master,
            &asked,
            &everything,
        );
        assert!(
            refused
                .unwrap_err()
                .why
                .ends_with("impersonating the system:masters group is not allowed")
        );
    }
}
