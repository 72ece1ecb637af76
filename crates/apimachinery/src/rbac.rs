//! Cluster roles with an `aggregationRule`.

/// The rules of a role that aggregates others, as upstream's controller collects them: from the selected roles in the order
/// given, every rule once. `selected` are names and rules; the role itself (`own`) may be among them and is left out.
///
/// ```
/// use kubewright_apimachinery::rbac::aggregate;
///
/// let selected = [("edit", vec!["get", "update"]), ("admin", vec!["*"]), ("view", vec!["get", "list"])];
/// assert_eq!(aggregate("admin", selected), ["get", "update", "list"]);
/// ```
pub fn aggregate<'r, R: PartialEq, Rules: IntoIterator<Item = R>>(
    own: &str,
    selected: impl IntoIterator<Item = (&'r str, Rules)>,
) -> Vec<R> {
    let mut rules = Vec::new();
    let others = selected.into_iter().filter(|(name, _)| *name != own);
    for rule in others.flat_map(|(_, rules)| rules) {
        if !rules.contains(&rule) {
            rules.push(rule);
        }
    }
    rules
}
