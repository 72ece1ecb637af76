//! A policy that is kept current, with a cache of what users are granted.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::RwLock;
use serde_json::Value;

use crate::attributes::Attributes;
use crate::decision::{Decision, Reason};
use crate::policy::{Grants, Policy, RbacResource, Scope};
use crate::rule::Rule;
use crate::user::User;

/// The most entries of the cache, one for each user and namespace; a full cache is emptied.
const MOST_KNOWN: usize = 16 * 1024;

/// Decides who may do what, by roles and bindings (Z4).
#[derive(Debug, Default)]
pub struct Authorizer(RwLock<State>);

#[derive(Debug, Default)]
struct State {
    policy: Policy,
    /// Counts changes of the policy, so that the cache has no entries of an older one.
    changes: u64,
    /// What users of a name are granted, by their groups.
    known: HashMap<Box<str>, Vec<CachedGrants>>,
    /// The number of entries of the cache.
    entries: usize,
}

/// The most bytes of names in one entry of the cache.
const LONGEST_KNOWN: usize = 4096;

#[derive(Debug)]
struct CachedGrants {
    groups: Vec<String>,
    cluster: Arc<Grants>,
    by_namespace: HashMap<Box<str>, Arc<Grants>>,
}

impl Authorizer {
    /// An authorizer with this policy.
    pub fn new(policy: Policy) -> Self {
        Authorizer(RwLock::new(State {
            policy,
            ..State::default()
        }))
    }

    /// An independent authorizer with the same policy; copies nothing.
    pub fn fork(&self) -> Self {
        Authorizer::new(self.policy())
    }

    /// The policy as it is now.
    pub fn policy(&self) -> Policy {
        self.0.read().policy.clone()
    }

    /// Replaces an object by what `read` returns; `None` removes it. `read` is called under the lock that orders changes,
    /// so that after two changes the policy has the object as it was read last.
    pub fn refresh(&self, table: RbacResource, key: &str, read: impl FnOnce() -> Option<Value>) {
        let mut state = self.0.write();
        let object = read();
        state.policy.set(table, key, object.as_ref());
        state.changes += 1;
        state.forget();
    }

    /// Whether a user may do what is asked. Masters may do everything.
    pub fn decide(&self, user: &User, asked: &Attributes<'_>) -> Decision {
        if user.is_master() {
            return Decision::ALLOWED;
        }
        let (cluster, local) = self.grants(user, &asked.namespace);
        let both = [Some(&cluster), local.as_ref()];
        for grant in both.into_iter().flatten().flat_map(|grants| &grants.granted) {
            if grant.rules.iter().any(|rule| rule.allows(asked)) {
                return Decision {
                    allowed: true,
                    reason: Reason::Granted(Arc::clone(&grant.source)),
                };
            }
        }
        let errors = both.into_iter().flatten().flat_map(|grants| &grants.errors);
        let errors: Arc<[Arc<str>]> = errors.cloned().collect();
        Decision {
            allowed: false,
            reason: if errors.is_empty() {
                Reason::None
            } else {
                Reason::Unresolved(errors)
            },
        }
    }

    /// Every right of a user in a namespace (or, without one, in the cluster), and why some could not be found.
    pub fn rules_for(&self, user: &User, namespace: &str) -> (Vec<Rule>, Vec<Arc<str>>) {
        self.policy().rules_for(user, namespace)
    }

    /// What a user has in the cluster and in a namespace.
    fn grants(&self, user: &User, namespace: &str) -> (Arc<Grants>, Option<Arc<Grants>>) {
        let (policy, changes, cluster) = {
            let state = self.0.read();
            let known = state.known(user);
            if let Some(known) = known {
                if namespace.is_empty() {
                    return (Arc::clone(&known.cluster), None);
                }
                if let Some(local) = known.by_namespace.get(namespace) {
                    return (Arc::clone(&known.cluster), Some(Arc::clone(local)));
                }
            }
            let cluster = known.map(|known| Arc::clone(&known.cluster));
            (state.policy.clone(), state.changes, cluster)
        };
        // Looking through all bindings takes a while, so it is done without the lock.
        let cluster = cluster.unwrap_or_else(|| Arc::new(policy.grants(user, Scope::Cluster)));
        let local = (!namespace.is_empty()).then(|| Arc::new(policy.grants(user, Scope::Namespace(namespace))));
        let mut state = self.0.write();
        if state.changes == changes {
            state.learn(user, &cluster, namespace, local.as_ref());
        }
        (cluster, local)
    }
}

impl State {
    fn known(&self, user: &User) -> Option<&CachedGrants> {
        self.known
            .get(user.name.as_str())?
            .iter()
            .find(|known| known.groups == user.groups)
    }

    fn learn(&mut self, user: &User, cluster: &Arc<Grants>, namespace: &str, local: Option<&Arc<Grants>>) {
        // Reviews may name any user and namespace: names that are too long for an object are not cached.
        let length = user.groups.iter().map(String::len).sum::<usize>() + user.name.len() + namespace.len();
        if length > LONGEST_KNOWN {
            return;
        }
        if self.entries >= MOST_KNOWN {
            self.forget();
        }
        self.entries += 1;
        let users = self.known.entry(user.name.as_str().into()).or_default();
        let at = users.iter().position(|known| known.groups == user.groups);
        let at = at.unwrap_or_else(|| {
            users.push(CachedGrants {
                groups: user.groups.clone(),
                cluster: Arc::clone(cluster),
                by_namespace: HashMap::new(),
            });
            users.len() - 1
        });
        if let Some(local) = local {
            users[at].by_namespace.insert(namespace.into(), Arc::clone(local));
        }
    }

    fn forget(&mut self) {
        self.known.clear();
        self.entries = 0;
    }
}
