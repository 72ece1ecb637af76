//! What a refusal by the server says is missing, as the line to add.

use kube::core::Status;
use kubewright_description::Rule;

/// What to add so that the server would not have refused; nothing where it did not, or says something unknown.
pub(crate) fn hint(status: &Status) -> String {
    let Some(rule) = missing(status) else {
        return String::new();
    };
    let reads = rule
        .verbs
        .iter()
        .any(|verb| matches!(verb.as_str(), "get" | "list" | "watch"));
    if reads && rule.non_resource_urls.is_empty() {
        format!(
            "; declare the kind with `.reads::<…>()` (or `of`, `owns`, `watches`), or add `.rule({rule})` to the operator, and \
             install its role again"
        )
    } else {
        format!("; add `.rule({rule})` to the operator and install its role again")
    }
}

/// The rule that is missing, as the server's authorizer words it:
/// `… is forbidden: User "u" cannot list resource "pods" in API group "" at the cluster scope`.
pub(crate) fn missing(status: &Status) -> Option<Rule> {
    if status.code != 403 || status.reason != "Forbidden" {
        return None;
    }
    let (_, said) = status.message.split_once(" is forbidden: User ")?;
    let (_, wanted) = said.split_once("\" cannot ")?;
    let (verb, rest) = wanted.split_once(' ')?;
    if let Some(path) = rest.strip_prefix("path \"") {
        return Some(Rule::urls([path.split('"').next()?], [verb]));
    }
    let (resource, rest) = rest.strip_prefix("resource \"")?.split_once('"')?;
    let (group, _) = rest.strip_prefix(" in API group \"")?.split_once('"')?;
    Some(Rule::new([group], [resource], [verb]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(message: &str) -> Status {
        Status::failure(message, "Forbidden").with_code(403)
    }

    #[test]
    fn a_refusal_names_the_rule_that_is_missing() {
        let said = r#"deployments.apps "web" is forbidden: User "system:serviceaccount:shop:controller" cannot patch resource "deployments/status" in API group "apps" in the namespace "shop""#;
        assert_eq!(
            hint(&refused(said)),
            r#"; add `.rule(Rule::new(["apps"], ["deployments/status"], ["patch"]))` to the operator and install its role again"#
        );
        let said =
            r#"secrets is forbidden: User "u" cannot list resource "secrets" in API group "" at the cluster scope"#;
        assert_eq!(
            hint(&refused(said)),
            r#"; declare the kind with `.reads::<…>()` (or `of`, `owns`, `watches`), or add `.rule(Rule::new([""], ["secrets"], ["list"]))` to the operator, and install its role again"#
        );
        let said = r#"forbidden: User "u" cannot get path "/metrics""#;
        assert_eq!(
            missing(&refused(&format!("x is {said}"))),
            Some(Rule::urls(["/metrics"], ["get"]))
        );
    }

    #[test]
    fn other_refusals_have_no_rule() {
        for said in [
            "admission webhook \"x\" denied the request: no",
            "pods \"x\" is forbidden: exceeded quota",
            "x is forbidden: User \"u\" cannot",
            "",
        ] {
            assert_eq!(hint(&refused(said)), "", "{said}");
        }
        let not_found = Status::failure(
            "x is forbidden: User \"u\" cannot get resource \"a\" in API group \"\"",
            "NotFound",
        );
        assert_eq!(missing(&not_found), None);
    }
}
