//! Where rules can be granted: an operator that works in one namespace has a Role there, and a `ClusterRole` only for what is in
//! no namespace.

use std::collections::BTreeMap;

use kubewright_description::{Description, Rule};
use kubewright_schema::resources;

use super::grant::{Right, grants};
use super::{by_namespace, minimal};

/// Rules by where they can be granted, each in its smallest form.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ByScope {
    /// What a Role in a namespace can grant.
    pub namespace: Vec<Rule>,
    /// What only a `ClusterRole` can: resources of the whole cluster, and paths.
    pub cluster: Vec<Rule>,
    /// What is for a namespace of its own, whichever the operator's is.
    pub other_namespaces: BTreeMap<String, Vec<Rule>>,
}

/// Splits rules by where they can be granted. The scope of the operator's own kinds is known from its description.
///
/// ```
/// use kubewright_manifests::rules::by_scope;
/// use kubewright_runtime::operator::{Operator, Rule};
///
/// let operator = Operator::new("shop").describe();
/// let rules = [Rule::new([""], ["pods", "nodes"], ["get"]), Rule::urls(["/metrics"], ["get"])];
/// let split = by_scope(&rules, &operator);
/// assert_eq!(split.namespace, [Rule::new([""], ["pods"], ["get"])]);
/// assert_eq!(split.cluster, [Rule::urls(["/metrics"], ["get"]), Rule::new([""], ["nodes"], ["get"])]);
/// ```
pub fn by_scope(rules: &[Rule], operator: &Description) -> ByScope {
    let (mut namespace, mut cluster, mut other_namespaces) = (Vec::new(), Vec::new(), Vec::new());
    for grant in rules.iter().flat_map(grants) {
        let of_cluster = match &grant.right {
            Right::Path { .. } => true,
            Right::Resource { group, resource, .. } => is_of_cluster(group, resource, operator),
        };
        let list = match (&grant.namespace, of_cluster) {
            (Some(_), _) => &mut other_namespaces,
            (None, true) => &mut cluster,
            (None, false) => &mut namespace,
        };
        list.push(grant.rule());
    }
    let other_namespaces = by_namespace(&other_namespaces).into_iter();
    ByScope {
        namespace: minimal(&namespace),
        cluster: minimal(&cluster),
        other_namespaces: other_namespaces
            .filter_map(|(namespace, rules)| Some((namespace?, rules)))
            .collect(),
    }
}

/// Unknown resources count as namespaced, as most are.
fn is_of_cluster(group: &str, resource: &str, operator: &Description) -> bool {
    let plural = resource.split_once('/').map_or(resource, |(plural, _)| plural);
    let own = operator
        .definitions
        .iter()
        .find(|definition| definition.group == group && definition.plural == plural);
    if let Some(own) = own {
        return !own.namespaced;
    }
    let mut builtin = resources()
        .group_versions()
        .flat_map(|version| version.resources.iter());
    builtin.any(|known| known.group == group && known.plural == plural && !known.namespaced)
}
