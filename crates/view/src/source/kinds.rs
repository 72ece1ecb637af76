//! Which kinds of a cluster are followed for an operator: those it defines, those it reads, and what workloads are made of.

use kubewright_description::{Description, Rule};
use kubewright_runtime::mapper::RestMapper;

use super::cluster::FollowedKind;
use super::is_left_out;

/// What most operators make something of, and what becomes of it.
const WORKLOADS: [(&str, &str); 10] = [
    ("apps", "deployments"),
    ("apps", "statefulsets"),
    ("apps", "daemonsets"),
    ("apps", "replicasets"),
    ("batch", "jobs"),
    ("batch", "cronjobs"),
    ("", "pods"),
    ("", "services"),
    ("", "persistentvolumeclaims"),
    ("networking.k8s.io", "ingresses"),
];

/// What an operator defines and what it may read, as groups and resources.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OperatorKinds {
    /// Those that it is about.
    pub own: Vec<(String, String)>,
    /// All others.
    pub other: Vec<(String, String)>,
}

impl OperatorKinds {
    /// Of an operator that describes itself.
    pub fn of(description: &Description) -> Self {
        let definitions = description.definitions.iter().chain(&description.aggregated);
        let own: Vec<(String, String)> = definitions
            .map(|definition| (definition.group.clone(), definition.plural.clone()))
            .collect();
        Self::new(own, &description.rules)
    }

    /// Of one that is about `own` kinds and has these rules.
    pub fn new(own: Vec<(String, String)>, rules: &[Rule]) -> Self {
        let is_read = |rule: &&Rule| {
            rule.verbs
                .iter()
                .any(|verb| verb == "watch" || verb == "list" || verb == "*")
        };
        let mut kinds = OperatorKinds { own, other: Vec::new() };
        kinds.own.sort();
        kinds.own.dedup();
        let read = rules.iter().filter(is_read).flat_map(|rule| {
            let groups = rule.api_groups.iter();
            groups.flat_map(|group| {
                rule.resources
                    .iter()
                    .map(move |resource| (group.clone(), resource.clone()))
            })
        });
        let workloads = WORKLOADS.map(|(group, resource)| (group.to_owned(), resource.to_owned()));
        for kind in read.chain(workloads) {
            let is_one = kind.0 != "*" && kind.1 != "*" && !kind.1.contains('/');
            if is_one && !is_left_out(&kind.0, &kind.1) && !kinds.own.contains(&kind) && !kinds.other.contains(&kind) {
                kinds.other.push(kind);
            }
        }
        kinds
    }

    /// As far as the cluster has them.
    pub async fn find(&self, client: &kube::Client) -> Vec<FollowedKind> {
        let mapper = RestMapper::new(client.clone());
        let mut found = Vec::new();
        for (kinds, is_own) in [(&self.own, true), (&self.other, false)] {
            for (group, resource) in kinds {
                if let Ok(kind) = mapper.preferred_resource(group, resource).await {
                    found.push(FollowedKind { kind, is_own });
                }
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_is_followed_and_what_is_only_written_is_not() {
        let own = vec![("shop.example.com".to_owned(), "orders".to_owned()); 2];
        let rules = [
            Rule::new(["shop.example.com"], ["orders", "orders/status"], ["list", "watch"]),
            Rule::new([""], ["configmaps", "secrets"], ["watch"]),
            Rule::new([""], ["namespaces"], ["create"]),
            Rule::new(["", "events.k8s.io"], ["events"], ["*"]),
            Rule::new(["*"], ["*"], ["*"]),
        ];
        let kinds = OperatorKinds::new(own, &rules);
        assert_eq!(kinds.own, [("shop.example.com".to_owned(), "orders".to_owned())]);
        let others: Vec<&str> = kinds.other.iter().map(|(_, resource)| &**resource).collect();
        assert_eq!(others[..3], ["configmaps", "secrets", "deployments"]);
        assert_eq!(others.len(), 2 + WORKLOADS.len());
    }
}
