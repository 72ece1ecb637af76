//! Who is where, as far as it matters to one Pod that looks for a place: gathered once, asked of every node.

use std::collections::BTreeSet;

use super::host::Host;
use super::needs::{Needs, Term};

/// What one Pod has to know of all others.
pub(super) struct Crowd<'a> {
    together: Vec<Near<'a>>,
    apart: Vec<Near<'a>>,
    /// The places, by key and value of topology, that others keep free of this Pod.
    kept_free: BTreeSet<(&'a str, &'a str)>,
}

/// Where the Pods are that a term means.
struct Near<'a> {
    term: &'a Term,
    places: BTreeSet<&'a str>,
    /// Whether there is such a Pod at all, also where there is no such place.
    any: bool,
    /// Whether the term means the Pod that looks for a place itself.
    own: bool,
}

impl<'a> Near<'a> {
    fn new(term: &'a Term, needs: &'a Needs, hosts: impl Iterator<Item = &'a Host>) -> Self {
        let mut near = Near {
            term,
            places: BTreeSet::new(),
            any: false,
            own: term.means(needs, needs),
        };
        for host in hosts {
            if host.pods.values().any(|pod| term.means(needs, pod)) {
                near.any = true;
                near.places.extend(host.topology(&term.topology_key));
            }
        }
        near
    }

    fn is_near(&self, host: &Host) -> bool {
        host.topology(&self.term.topology_key)
            .is_some_and(|place| self.places.contains(place))
    }

    /// The first of a group that wants to be together may go anywhere with such a place.
    fn begins_at(&self, host: &Host) -> bool {
        self.own && !self.any && host.topology(&self.term.topology_key).is_some()
    }
}

impl<'a> Crowd<'a> {
    /// Looks at all hosts.
    pub(super) fn around(needs: &'a Needs, hosts: &(impl Iterator<Item = &'a Host> + Clone)) -> Self {
        let near = |terms: &'a [Term]| terms.iter().map(|term| Near::new(term, needs, hosts.clone())).collect();
        let mut kept_free = BTreeSet::new();
        for host in hosts.clone() {
            for pod in host.repelling() {
                for term in pod.apart.iter().filter(|term| term.means(pod, needs)) {
                    let place = host.topology(&term.topology_key);
                    kept_free.extend(place.map(|place| (term.topology_key.as_str(), place)));
                }
            }
        }
        Crowd {
            together: near(&needs.together),
            apart: near(&needs.apart),
            kept_free,
        }
    }

    /// Why the others keep a Pod from a host.
    pub(super) fn reason(&self, host: &Host) -> Option<&'static str> {
        if !self
            .together
            .iter()
            .all(|near| near.is_near(host) || near.begins_at(host))
        {
            return Some("node(s) didn't match pod affinity rules");
        }
        if self.apart.iter().any(|near| near.is_near(host)) {
            return Some("node(s) didn't match pod anti-affinity rules");
        }
        let kept = |(key, place): &(&str, &str)| host.topology(key) == Some(*place);
        if self.kept_free.iter().any(kept) {
            return Some("node(s) didn't satisfy existing pods anti-affinity rules");
        }
        None
    }
}
