//! Waiting until the manager runs, and saying what it waits for: the Deployment's own words, and what its Pods complain of.

use std::collections::BTreeSet;
use std::time::Duration;

use kube::api::LogParams;
use kube::core::Request;
use kubewright_cluster::apply::Applied;
use kubewright_cluster::bundle::Bundle;
use kubewright_cluster::progress::{Progress, duration};
use kubewright_cluster::{Cluster, Error, Reference};
use serde_json::Value;
use tokio::time::{Instant, sleep};

const PAUSE: Duration = Duration::from_millis(250);
/// A cluster that has not observed a Deployment after this time has no Deployment controller.
const LOOKED_AT_WITHIN: Duration = Duration::from_secs(10);
/// How much of the log of a manager that ended is shown.
const LAST_LINES: i64 = 10;

/// Why the manager does not run.
#[derive(Debug, thiserror::Error)]
pub(super) enum RolloutError {
    #[error("{deployment} does not run after {}: {why}{hint}", duration(*.timeout))]
    TooLate {
        deployment: Reference,
        timeout: Duration,
        why: String,
        hint: String,
    },
    #[error("{deployment} was rolled back by the cluster: {why}{hint}")]
    Failed {
        deployment: Reference,
        why: String,
        hint: String,
    },
    #[error("{0} was deleted while it was waited for")]
    Gone(Reference),
    #[error(transparent)]
    Cluster(#[from] Error),
}

/// How far the rollout of a Deployment is.
#[derive(Clone, Debug, PartialEq, Eq)]
enum RolloutStatus {
    Done,
    Waiting(String),
    Failed(String),
}

/// Waits until a Deployment runs as it was applied.
pub(super) async fn wait(
    cluster: &Cluster,
    deployment: &Applied,
    bundle: &Bundle,
    timeout: Duration,
    progress: &Progress,
) -> Result<(), RolloutError> {
    let reference = &deployment.reference;
    let step = progress.step(format!("Waiting until {reference} runs"));
    let began = Instant::now();
    loop {
        let live = cluster.get(reference).await?;
        let live = live.ok_or_else(|| RolloutError::Gone(reference.clone()))?;
        let (mut why, failed) = match rollout_status(&live, began.elapsed()) {
            RolloutStatus::Done => {
                let running = live["status"]["availableReplicas"].as_u64().unwrap_or_default();
                step.done_with(format!("{running} available"));
                return Ok(());
            }
            RolloutStatus::Waiting(why) => (why, false),
            RolloutStatus::Failed(why) => (why, true),
        };
        let complaints = complaints(cluster, &live, bundle).await;
        if !complaints.is_empty() {
            why = format!("{why}; {}", complaints.join("; "));
        }
        let too_late = began.elapsed() >= timeout;
        if failed || too_late {
            let deployment = reference.clone();
            let hint = last_lines(cluster, &live).await;
            return Err(if failed {
                RolloutError::Failed { deployment, why, hint }
            } else {
                RolloutError::TooLate {
                    deployment,
                    timeout,
                    why,
                    hint,
                }
            });
        }
        step.waiting(why);
        sleep(PAUSE).await;
    }
}

/// How far a Deployment is, as `kubectl rollout status` sees it.
fn rollout_status(deployment: &Value, elapsed: Duration) -> RolloutStatus {
    let number = |path: &str| deployment.pointer(path).and_then(Value::as_i64);
    let status = |field: &str| number(&format!("/status/{field}")).unwrap_or_default();
    let generation = number("/metadata/generation").unwrap_or_default();
    if number("/status/observedGeneration").is_none_or(|observed| observed < generation) {
        let nobody = "no controller looks at Deployments in this cluster (the embedded API server has none)";
        let why = if elapsed >= LOOKED_AT_WITHIN {
            nobody
        } else {
            "waiting for the cluster to look at it"
        };
        return RolloutStatus::Waiting(why.to_owned());
    }
    if let Some(progressing) =
        condition(deployment, "Progressing").filter(|it| it["reason"] == "ProgressDeadlineExceeded")
    {
        return RolloutStatus::Failed(text(&progressing["message"]));
    }
    let wanted = number("/spec/replicas").unwrap_or(1);
    let (updated, all, available) = (
        status("updatedReplicas"),
        status("replicas"),
        status("availableReplicas"),
    );
    let why = if updated < wanted {
        format!("{updated} of {wanted} new replicas made")
    } else if all > updated {
        format!("{} old replicas still there", all - updated)
    } else if available < updated {
        format!("{available} of {updated} replicas available")
    } else {
        return RolloutStatus::Done;
    };
    // Such as Pods that a quota or the security level of the namespace forbids.
    match condition(deployment, "ReplicaFailure").filter(|it| it["status"] == "True") {
        Some(failure) => RolloutStatus::Waiting(format!("{why}; {}", text(&failure["message"]))),
        None => RolloutStatus::Waiting(why),
    }
}

fn condition<'a>(object: &'a Value, name: &str) -> Option<&'a Value> {
    let conditions = object["status"]["conditions"].as_array()?;
    conditions.iter().find(|condition| condition["type"] == name)
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// The problems of the newest Pods of a Deployment; none if the user may not read them.
async fn complaints(cluster: &Cluster, deployment: &Value, bundle: &Bundle) -> Vec<String> {
    let mut all = BTreeSet::new();
    for pod in pods(cluster, deployment).await {
        all.extend(complaint(&pod));
        for secret in missing_secrets(cluster, &pod).await {
            all.insert(secret_complaint(cluster, &secret, bundle).await);
        }
    }
    all.into_iter().collect()
}

/// The Pods of a Deployment's newest template.
async fn pods(cluster: &Cluster, deployment: &Value) -> Vec<Value> {
    let namespace = deployment["metadata"]["namespace"].as_str();
    let labels = deployment["spec"]["selector"]["matchLabels"]
        .as_object()
        .into_iter()
        .flatten();
    let selector: Vec<String> = labels.map(|(key, value)| format!("{key}={}", text(value))).collect();
    let selector = selector.join(",");
    let revision = &deployment["metadata"]["annotations"]["deployment.kubernetes.io/revision"];
    let sets = listed(cluster, "apps/v1", "ReplicaSet", namespace, &selector).await;
    let newest = sets.iter().find(|set| {
        revision.is_string() && &set["metadata"]["annotations"]["deployment.kubernetes.io/revision"] == revision
    });
    let hash = newest.map(|set| &set["metadata"]["labels"]["pod-template-hash"]);
    let mut pods = listed(cluster, "v1", "Pod", namespace, &selector).await;
    pods.retain(|pod| {
        let is_newest = hash.is_none_or(|hash| &pod["metadata"]["labels"]["pod-template-hash"] == hash);
        is_newest && pod["metadata"]["deletionTimestamp"].is_null()
    });
    pods
}

async fn listed(
    cluster: &Cluster,
    api_version: &str,
    kind: &str,
    namespace: Option<&str>,
    selector: &str,
) -> Vec<Value> {
    let any = Reference::new(api_version, kind, namespace, "any");
    let Ok(kind) = cluster.kind(&any).await else {
        return Vec::new();
    };
    cluster.list(&kind, namespace, selector).await.unwrap_or_default()
}

/// What one Pod waits for, if it says so, and what to do about it.
fn complaint(pod: &Value) -> Option<String> {
    let name = text(&pod["metadata"]["name"]);
    let statuses = ["initContainerStatuses", "containerStatuses"];
    let containers = statuses
        .iter()
        .filter_map(|field| pod["status"][field].as_array())
        .flatten();
    for container in containers {
        let waiting = &container["state"]["waiting"];
        let image = text(&container["image"]);
        let (reason, message) = (text(&waiting["reason"]), text(&waiting["message"]));
        let advice = match reason.as_str() {
            "" | "ContainerCreating" | "PodInitializing" => continue,
            "ImagePullBackOff" | "ErrImagePull" | "ErrImageNeverPull" => {
                format!("is the image {image} in the cluster? `make image-load` or `make docker-push` brings it there")
            }
            "InvalidImageName" => format!("{image} is no image's name"),
            "CrashLoopBackOff" => ended(container),
            _ => String::new(),
        };
        let told = [message, advice].into_iter().filter(|part| !part.is_empty());
        let told: Vec<String> = told.collect();
        let told = if told.is_empty() {
            String::new()
        } else {
            format!(" ({})", told.join("; "))
        };
        return Some(format!("pod/{name}: {reason}{told}"));
    }
    let unscheduled = condition(pod, "PodScheduled").filter(|it| it["status"] == "False");
    unscheduled.map(|condition| {
        format!(
            "pod/{name}: {}: {}",
            text(&condition["reason"]),
            text(&condition["message"])
        )
    })
}

/// How a container ended the last time.
fn ended(container: &Value) -> String {
    let last = &container["lastState"]["terminated"];
    let code = last["exitCode"].as_i64();
    match (last["reason"].as_str(), code) {
        (Some("OOMKilled"), _) => "it used more memory than its limit allows".to_owned(),
        (_, Some(code)) => format!("it ended with exit code {code}"),
        _ => String::new(),
    }
}

/// The Secrets a Pod that is being made needs and that are not there.
async fn missing_secrets(cluster: &Cluster, pod: &Value) -> Vec<Reference> {
    if pod["status"]["phase"] != "Pending" {
        return Vec::new();
    }
    let namespace = pod["metadata"]["namespace"].as_str();
    let mut missing = Vec::new();
    for volume in pod["spec"]["volumes"].as_array().into_iter().flatten() {
        let secret = &volume["secret"];
        let Some(name) = secret["secretName"].as_str().filter(|_| secret["optional"] != true) else {
            continue;
        };
        let reference = Reference::new("v1", "Secret", namespace, name);
        if let Ok(None) = cluster.get(&reference).await {
            missing.push(reference);
        }
    }
    missing
}

/// Why a Secret is missing: cert-manager has not issued the certificate that it is to hold, or nothing makes it.
async fn secret_complaint(cluster: &Cluster, secret: &Reference, bundle: &Bundle) -> String {
    let issued_by = |object: &&Value| {
        let reference = Reference::of(object);
        object["spec"]["secretName"] == secret.name.as_str()
            && reference.is_some_and(|reference| reference.is("cert-manager.io", "Certificate"))
    };
    let Some(certificate) = bundle.objects.iter().find(issued_by).and_then(Reference::of) else {
        return format!("{secret} is not there, and the manager's Pod mounts it");
    };
    let live = cluster.get(&certificate).await.ok().flatten().unwrap_or_default();
    let ready = condition(&live, "Ready").map(|condition| text(&condition["message"]));
    match ready.filter(|message| !message.is_empty()) {
        Some(message) => format!("{secret} is not issued yet: {certificate}: {message}"),
        None => format!(
            "{secret} waits for {certificate}, which nobody issues: is cert-manager running? (`kubectl -n cert-manager get pods`; \
             without it: `kubewright edit --cert-manager=false`)"
        ),
    }
}

/// The last lines of a manager that ended, to stand below an error.
async fn last_lines(cluster: &Cluster, deployment: &Value) -> String {
    for pod in pods(cluster, deployment).await {
        let containers = pod["status"]["containerStatuses"].as_array().into_iter().flatten();
        let ended = containers
            .into_iter()
            .find(|container| container["restartCount"].as_i64().unwrap_or_default() > 0);
        let (Some(container), Some(namespace)) = (ended, pod["metadata"]["namespace"].as_str()) else {
            continue;
        };
        let params = LogParams {
            container: container["name"].as_str().map(str::to_owned),
            previous: true,
            tail_lines: Some(LAST_LINES),
            ..LogParams::default()
        };
        let name = text(&pod["metadata"]["name"]);
        let Ok(request) = Request::new(format!("/api/v1/namespaces/{namespace}/pods")).logs(&name, &params) else {
            continue;
        };
        if let Ok(log) = cluster.client().request_text(request).await
            && !log.trim().is_empty()
        {
            let lines: Vec<String> = log.trim_end().lines().map(|line| format!("  {line}")).collect();
            return format!("\nthe last it said:\n{}", lines.join("\n"));
        }
    }
    String::new()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn deployment(status: &Value) -> Value {
        json!({ "metadata": { "generation": 2 }, "spec": { "replicas": 2 }, "status": status })
    }

    fn waiting(status: &Value) -> String {
        match rollout_status(&deployment(status), Duration::ZERO) {
            RolloutStatus::Waiting(why) => why,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_rollout_is_done_when_kubectl_says_so() {
        let done = json!({ "observedGeneration": 2, "replicas": 2, "updatedReplicas": 2, "availableReplicas": 2 });
        assert_eq!(rollout_status(&deployment(&done), Duration::ZERO), RolloutStatus::Done);
        assert_eq!(
            waiting(&json!({ "observedGeneration": 1 })),
            "waiting for the cluster to look at it"
        );
        assert_eq!(
            waiting(&json!({ "observedGeneration": 2, "replicas": 2, "updatedReplicas": 1 })),
            "1 of 2 new replicas made"
        );
        assert_eq!(
            waiting(&json!({ "observedGeneration": 2, "replicas": 3, "updatedReplicas": 2 })),
            "1 old replicas still there"
        );
        assert_eq!(
            waiting(&json!({ "observedGeneration": 2, "replicas": 2, "updatedReplicas": 2, "availableReplicas": 1 })),
            "1 of 2 replicas available"
        );
        let late = json!({ "observedGeneration": 2, "conditions": [
            { "type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded", "message": "has timed out" },
        ] });
        assert_eq!(
            rollout_status(&deployment(&late), Duration::ZERO),
            RolloutStatus::Failed("has timed out".to_owned())
        );
    }

    #[test]
    fn a_cluster_without_controllers_is_found_out() {
        let status = rollout_status(&deployment(&json!({})), Duration::from_secs(11));
        let RolloutStatus::Waiting(why) = status else {
            panic!("{status:?}");
        };
        assert!(why.starts_with("no controller looks at Deployments"), "{why}");
    }

    #[test]
    fn what_keeps_replicas_from_being_made_is_told() {
        let why = waiting(&json!({ "observedGeneration": 2, "conditions": [
            { "type": "ReplicaFailure", "status": "True", "message": "pods \"shop\" is forbidden: exceeded quota" },
        ] }));
        assert_eq!(
            why,
            "0 of 2 new replicas made; pods \"shop\" is forbidden: exceeded quota"
        );
    }

    #[test]
    fn an_image_that_cannot_be_pulled_is_told_with_what_to_do() {
        let pod = |reason: &str| {
            json!({ "metadata": { "name": "shop-1" }, "status": { "containerStatuses": [
                { "image": "shop:dev", "state": { "waiting": { "reason": reason } }, "lastState": { "terminated": { "exitCode": 3 } } },
            ] } })
        };
        let told = complaint(&pod("ErrImageNeverPull")).unwrap();
        assert!(
            told.starts_with("pod/shop-1: ErrImageNeverPull (is the image shop:dev in the cluster?"),
            "{told}"
        );
        assert_eq!(
            complaint(&pod("CrashLoopBackOff")).unwrap(),
            "pod/shop-1: CrashLoopBackOff (it ended with exit code 3)"
        );
        assert_eq!(complaint(&pod("ContainerCreating")), None);
    }

    #[test]
    fn a_pod_that_fits_nowhere_says_why() {
        let pod = json!({ "metadata": { "name": "shop-1" }, "status": { "conditions": [
            { "type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/1 nodes are available" },
        ] } });
        assert_eq!(
            complaint(&pod).unwrap(),
            "pod/shop-1: Unschedulable: 0/1 nodes are available"
        );
    }
}
