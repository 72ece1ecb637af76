//! Rolling the manager although nothing about it changed: its image may have been built anew under the same name.

use jiff::{Timestamp, Unit};
use kubewright_cluster::apply::Applied;
use kubewright_cluster::{Cluster, Error, Reference};
use serde_json::{Value, json};

/// The annotation by which `kubectl rollout restart` makes new Pods.
const RESTARTED_AT: &str = "kubectl.kubernetes.io/restartedAt";

/// Whether a Deployment that was applied goes on with Pods of an image that may be another by now.
pub(super) fn is_needed(deployment: &Applied) -> bool {
    let template = |object: &Value| object["spec"]["template"].clone();
    let after = template(&deployment.object);
    let is_same = deployment
        .before
        .as_ref()
        .is_some_and(|before| template(before) == after);
    // What is named by its digest is what it was.
    let containers = after["spec"]["containers"].as_array().into_iter().flatten();
    let may_change = |container: &Value| {
        container["image"]
            .as_str()
            .is_some_and(|image| !image.contains("@sha256:"))
    };
    is_same && containers.into_iter().any(may_change)
}

/// Makes new Pods, as `kubectl rollout restart` does.
pub(super) async fn restart(cluster: &Cluster, deployment: &Reference) -> Result<(), Error> {
    let now = Timestamp::now()
        .round(Unit::Second)
        .unwrap_or_else(|_| Timestamp::now());
    let annotations = json!({ RESTARTED_AT: now.to_string() });
    let patch = json!({ "spec": { "template": { "metadata": { "annotations": annotations } } } });
    cluster.patch(deployment, &patch).await.map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use kubewright_cluster::apply::ApplyOutcome;

    fn applied(before: Option<&str>, after: &str) -> Applied {
        let object =
            |image: &str| json!({ "spec": { "template": { "spec": { "containers": [{ "image": image }] } } } });
        Applied {
            reference: Reference::new("apps/v1", "Deployment", Some("shop-system"), "shop"),
            outcome: ApplyOutcome::Unchanged,
            before: before.map(object),
            object: object(after),
        }
    }

    #[test]
    fn only_pods_that_may_run_an_older_image_of_the_same_name_are_rolled() {
        assert!(is_needed(&applied(Some("shop:dev"), "shop:dev")));
        assert!(!is_needed(&applied(None, "shop:dev")), "it was just made");
        assert!(!is_needed(&applied(Some("shop:1"), "shop:2")), "it rolls by itself");
        assert!(
            !is_needed(&applied(Some("shop@sha256:12"), "shop@sha256:12")),
            "it cannot change"
        );
    }
}
