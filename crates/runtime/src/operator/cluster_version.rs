//! Which versions of Kubernetes are supported, and what others lack.

use std::ops::RangeInclusive;
use std::time::Duration;

use k8s_openapi::apimachinery::pkg::version::Info;

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

/// What versions before this minor lack cannot be done without: server-side apply is promised from here on.
const NEEDED: u32 = 22;

/// What a version of Kubernetes is warned about; nothing, if it is supported.
///
/// ```
/// use kubewright_runtime::operator::version_warning;
///
/// assert_eq!(version_warning("1", "36"), None);
/// assert!(version_warning("1", "25+").unwrap().starts_with("Kubernetes 1.25 is older than what is supported, 1.33 to 1.37"));
/// ```
pub fn version_warning(major: &str, minor: &str) -> Option<String> {
    let (oldest, newest) = (SUPPORTED_MINORS.start(), SUPPORTED_MINORS.end());
    let supported = format!("what is supported, 1.{oldest} to 1.{newest}");
    // Vendors write 29+.
    let number = |text: &str| text.trim_end_matches(|c: char| !c.is_ascii_digit()).parse::<u32>();
    let (Ok(1), Ok(minor)) = (number(major), number(minor)) else {
        return Some(format!(
            "the version {major}.{minor} of the cluster is not known; {supported}"
        ));
    };
    if SUPPORTED_MINORS.contains(&minor) {
        return None;
    }
    if minor > *newest {
        return Some(format!("Kubernetes 1.{minor} is newer than {supported}"));
    }
    // 1.32 streams the state, and 1.33 does not by default.
    let is_lacking = |since: u32| minor < since && !(since == STREAMING && minor == 32);
    let lacks = OPTIONAL.iter().filter(|(since, _)| is_lacking(*since));
    let mut lacks: Vec<&str> = lacks.map(|(_, lacks)| *lacks).collect();
    if minor < NEEDED {
        lacks.push("server-side apply is not promised before 1.22, and without it nothing works");
    }
    let older = format!("Kubernetes 1.{minor} is older than {supported}");
    Some(if lacks.is_empty() {
        older
    } else {
        format!("{older}: {}", lacks.join("; "))
    })
}

/// Asks an API server for its version. `None` if it is supported, or if it does not say.
pub async fn cluster_warning(kube: &kube::Client) -> Option<String> {
    let asked = tokio::time::timeout(PATIENCE, kube.apiserver_version()).await;
    let Info { major, minor, .. } = asked.ok()?.ok()?;
    version_warning(&major, &minor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_older_version_lacks_is_said() {
        let lacks = |minor: &str| version_warning("1", minor).unwrap();
        for minor in SUPPORTED_MINORS {
            assert_eq!(version_warning("1", &minor.to_string()), None);
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
        assert!(version_warning("", "").unwrap().contains("is not known"));
        assert!(version_warning("2", "33").is_some());
    }
}
