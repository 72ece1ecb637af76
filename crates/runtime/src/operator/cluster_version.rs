//! Which versions of Kubernetes are supported, and what others lack.

use std::ops::RangeInclusive;
use std::time::Duration;

use k8s_openapi::apimachinery::pkg::version::Info;
use kubewright_description::{PolicyDescription, PolicyType};

/// The minor versions of Kubernetes 1 that are supported: what an operator needs is in all of them. The book says which of them, and of
/// others, were tried.
pub const SUPPORTED_MINORS: RangeInclusive<u32> = 33..=37;

/// How long the API server may take to say its version.
const PATIENCE: Duration = Duration::from_secs(10);

/// Since this minor the state of a watch is streamed by default (the feature gate `WatchList`).
const STREAMING: u32 = 34;

/// What versions before a minor have not by default: the operator runs without it. The feature gates are `WatchList`,
/// `CustomResourceFieldSelectors`, `AdmissionWebhookMatchConditions` and `CustomResourceValidationExpressions`.
const OPTIONAL: [(u32, &str); 4] = [
    (
        STREAMING,
        "the state of a watch is listed in pages before it, since it is not streamed",
    ),
    (
        31,
        "selectable fields of definitions are dropped, and queries by them refused",
    ),
    (
        28,
        "match conditions of webhooks are dropped: they are asked about more than they say",
    ),
    (
        25,
        "rules in CEL of definitions are not checked: validate in a webhook what must hold",
    ),
];

/// The kinds of admission policies, and since which minor each is served as `v1`.
const POLICIES: [(PolicyType, &str, u32); 2] = [
    (PolicyType::Validating, "ValidatingAdmissionPolicy", 30),
    (PolicyType::Mutating, "MutatingAdmissionPolicy", 36),
];

/// What versions before this minor lack cannot be done without: server-side apply is promised from here on.
const NEEDED: u32 = 22;

/// What an operator that brings these policies is warned about on a version of Kubernetes; nothing, if the version is supported and has
/// all that the operator needs.
///
/// ```
/// use kubewright_runtime::operator::version_warning;
///
/// assert_eq!(version_warning("1", "36", &[]), None);
/// assert!(version_warning("1", "25+", &[]).unwrap().starts_with("Kubernetes 1.25 is older than what is supported, 1.33 to 1.37"));
/// ```
pub fn version_warning(major: &str, minor: &str, policies: &[PolicyDescription]) -> Option<String> {
    let (oldest, newest) = (SUPPORTED_MINORS.start(), SUPPORTED_MINORS.end());
    let supported = format!("what is supported, 1.{oldest} to 1.{newest}");
    // Vendors write 29+.
    let number = |text: &str| text.trim_end_matches(|c: char| !c.is_ascii_digit()).parse::<u32>();
    let (Ok(1), Ok(minor)) = (number(major), number(minor)) else {
        return Some(format!(
            "the version {major}.{minor} of the cluster is not known; {supported}"
        ));
    };
    let mut lacks = Vec::new();
    if minor < *oldest {
        // 1.32 streams the state, and 1.33 does not by default.
        let is_lacking = |since: u32| minor < since && !(since == STREAMING && minor == 32);
        let optional = OPTIONAL.iter().filter(|(since, _)| is_lacking(*since));
        lacks.extend(optional.map(|(_, lacks)| (*lacks).to_owned()));
    }
    lacks.extend(missing_policies(minor, policies));
    if minor < NEEDED {
        lacks.push("server-side apply is not promised before 1.22, and without it nothing works".to_owned());
    }
    let what = match minor {
        _ if minor < *oldest => format!("Kubernetes 1.{minor} is older than {supported}"),
        _ if minor > *newest => format!("Kubernetes 1.{minor} is newer than {supported}"),
        _ if lacks.is_empty() => return None,
        _ => format!("Kubernetes 1.{minor} lacks something"),
    };
    Some(if lacks.is_empty() {
        what
    } else {
        format!("{what}: {}", lacks.join("; "))
    })
}

/// What a minor lacks of the policies that an operator brings.
fn missing_policies(minor: u32, policies: &[PolicyDescription]) -> impl Iterator<Item = String> {
    POLICIES.into_iter().filter_map(move |(role, kind, since)| {
        let of_it = policies.iter().filter(|policy| policy.role == role);
        let names: Vec<&str> = of_it.map(|policy| policy.name.as_str()).collect();
        let is_missing = minor < since && !names.is_empty();
        is_missing.then(|| {
            let names = names.join(", ");
            format!("{kind} is served as v1 from 1.{since} on, so nobody enforces {names}: a webhook can")
        })
    })
}

/// Asks an API server for its version, and what an operator that brings these policies is warned about there. `None` if that is nothing, or
/// if the server does not say its version.
pub async fn cluster_warning(kube: &kube::Client, policies: &[PolicyDescription]) -> Option<String> {
    let asked = tokio::time::timeout(PATIENCE, kube.apiserver_version()).await;
    let Info { major, minor, .. } = asked.ok()?.ok()?;
    version_warning(&major, &minor, policies)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_older_version_lacks_is_said() {
        let lacks = |minor: &str| version_warning("1", minor, &[]).unwrap();
        for minor in SUPPORTED_MINORS {
            assert_eq!(version_warning("1", &minor.to_string(), &[]), None);
        }
        assert!(lacks("29").contains("listed in pages") && lacks("29").contains("selectable fields"));
        assert!(!lacks("29").contains("CEL") && !lacks("25").contains("CEL"));
        assert!(lacks("23").contains("rules in CEL of definitions are not checked") && !lacks("23").contains("1.22"));
        assert!(lacks("19").contains("not promised before 1.22"));
        assert_eq!(
            lacks("32"),
            "Kubernetes 1.32 is older than what is supported, 1.33 to 1.37"
        );
        assert_eq!(
            lacks("99"),
            "Kubernetes 1.99 is newer than what is supported, 1.33 to 1.37"
        );
        assert!(version_warning("", "", &[]).unwrap().contains("is not known"));
        assert!(version_warning("2", "33", &[]).is_some());
    }

    #[test]
    fn only_an_operator_with_policies_is_told_that_they_are_missing() {
        let policy = |role, name: &str| PolicyDescription {
            role,
            name: name.to_owned(),
            spec: serde_json::Value::Null,
            binding: serde_json::Value::Null,
        };
        let validating = [
            policy(PolicyType::Validating, "replicas"),
            policy(PolicyType::Validating, "names"),
        ];
        let mutating = [policy(PolicyType::Mutating, "labels")];
        let text = |minor: &str, policies: &[PolicyDescription]| version_warning("1", minor, policies);
        assert!(
            text("29", &validating)
                .unwrap()
                .ends_with("; ValidatingAdmissionPolicy is served as v1 from 1.30 on, so nobody enforces replicas, names: a webhook can")
        );
        assert!(!text("30", &validating).unwrap().contains("Policy"));
        assert!(!text("29", &[]).unwrap().contains("Policy"));
        assert_eq!(text("33", &validating), None);
        // A version that is supported has all that most operators need.
        assert_eq!(
            text("35", &mutating).unwrap(),
            "Kubernetes 1.35 lacks something: MutatingAdmissionPolicy is served as v1 from 1.36 on, so nobody enforces labels: a webhook can"
        );
        assert_eq!(text("36", &mutating), None);
    }
}
