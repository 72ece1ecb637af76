//! Deleting objects and waiting until they are gone.

use std::time::Duration;

use kube::api::{DeleteParams, Preconditions, PropagationPolicy};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::{Cluster, Error, Reference, found};
use crate::progress::{Progress, ProgressStep};

const PAUSE: Duration = Duration::from_millis(150);

/// An object to be deleted, and only that one: not another that takes its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeletionTarget {
    /// Which object.
    pub reference: Reference,
    /// Its uid: another object of the same name is left alone.
    pub uid: String,
}

/// Some objects are still there.
#[derive(Debug, thiserror::Error)]
#[error("still there after {seconds} seconds: {}", .left.join("; "))]
struct StillThere {
    seconds: u64,
    left: Vec<String>,
}

impl DeletionTarget {
    /// `None` if the object does not say what it is.
    pub fn of(object: &Value) -> Option<Self> {
        Some(DeletionTarget {
            reference: Reference::of(object)?,
            uid: object["metadata"]["uid"].as_str()?.to_owned(),
        })
    }

    /// Which object it is, as an object that says no more.
    pub fn identity(&self) -> Value {
        let Reference {
            api_version,
            kind,
            namespace,
            name,
        } = &self.reference;
        let mut metadata = json!({ "name": name, "uid": self.uid });
        if let Some(namespace) = namespace {
            metadata["namespace"] = namespace.as_str().into();
        }
        json!({ "apiVersion": api_version, "kind": kind, "metadata": metadata })
    }
}

impl Cluster {
    /// Deletes an object. Returns whether it was there.
    pub async fn delete(&self, target: &DeletionTarget, dry_run: bool) -> Result<bool, Error> {
        let kind = self.kind(&target.reference).await?;
        let params = DeleteParams {
            dry_run,
            propagation_policy: Some(PropagationPolicy::Background),
            preconditions: Some(Preconditions {
                uid: Some(target.uid.clone()),
                resource_version: None,
            }),
            ..DeleteParams::default()
        };
        let request = self
            .requests(&kind, &target.reference)
            .delete(&target.reference.name, &params);
        match found(self.send(request).await) {
            // Another object has its name: this one is gone.
            Err(error) if super::status(&error).is_some_and(|status| status.code == 409) => Ok(false),
            answer => Ok(answer?.is_some()),
        }
    }

    /// Returns once objects are gone.
    pub async fn wait_until_gone(
        &self,
        targets: &[DeletionTarget],
        timeout: Duration,
        step: &ProgressStep,
    ) -> Result<(), Box<dyn std::error::Error>> {
        let began = Instant::now();
        let mut left: Vec<&DeletionTarget> = targets.iter().collect();
        loop {
            let mut reasons = Vec::new();
            let mut still = Vec::new();
            for target in left {
                if let Some(live) = self.still_there(target).await? {
                    reasons.push(why_it_stays(target, &live));
                    still.push(target);
                }
            }
            left = still;
            if left.is_empty() {
                return Ok(());
            }
            if began.elapsed() >= timeout {
                let seconds = timeout.as_secs();
                return Err(StillThere { seconds, left: reasons }.into());
            }
            step.waiting(reasons.join("; "));
            sleep(PAUSE).await;
        }
    }

    async fn still_there(&self, target: &DeletionTarget) -> Result<Option<Value>, Error> {
        let live = match self.get(&target.reference).await {
            // Its kind went with its definition.
            Err(Error::NoKind { .. }) => None,
            answer => answer?,
        };
        Ok(live.filter(|live| live["metadata"]["uid"] == target.uid.as_str()))
    }
}

/// Why an object that is being deleted is still there.
fn why_it_stays(target: &DeletionTarget, live: &Value) -> String {
    let mut reasons = Vec::new();
    for condition in live["status"]["conditions"].as_array().into_iter().flatten() {
        let tells = match condition["type"].as_str() {
            // A definition waits for its objects, a namespace for what is in it.
            Some("Terminating") => condition["status"] != "True" || condition["reason"] != "InstanceDeletionInProgress",
            Some("NamespaceContentRemaining" | "NamespaceFinalizersRemaining" | "NamespaceDeletionContentFailure") => {
                condition["status"] == "True"
            }
            _ => false,
        };
        if let (true, Some(message)) = (tells, condition["message"].as_str()) {
            reasons.push(message.to_owned());
        }
    }
    let finalizers: Vec<&str> = ["/metadata/finalizers", "/spec/finalizers"]
        .iter()
        .filter_map(|path| live.pointer(path)?.as_array())
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    if reasons.is_empty() && !finalizers.is_empty() {
        reasons.push(format!("finalizers {}", finalizers.join(", ")));
    }
    if reasons.is_empty() {
        return target.reference.to_string();
    }
    format!("{} ({})", target.reference, reasons.join(", "))
}

/// Waits until what is being deleted is gone: what is applied to it would go with it.
pub async fn wait_for_deletions(
    cluster: &Cluster,
    going: &[DeletionTarget],
    timeout: Duration,
    progress: &Progress,
) -> Result<(), Box<dyn std::error::Error>> {
    if going.is_empty() {
        return Ok(());
    }
    let names: Vec<String> = going.iter().map(|target| target.reference.to_string()).collect();
    let step = progress.step(format!("Waiting until {} is gone, to make it anew", names.join(", ")));
    cluster.wait_until_gone(going, timeout, &step).await?;
    step.done();
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_keeps_an_object_is_told() {
        let target = DeletionTarget {
            reference: Reference::new("v1", "Namespace", None, "shop"),
            uid: "1".to_owned(),
        };
        assert_eq!(why_it_stays(&target, &json!({})), "namespace/shop");
        let live = json!({ "spec": { "finalizers": ["kubernetes"] }, "status": { "conditions": [
            { "type": "NamespaceFinalizersRemaining", "status": "False", "message": "All content-preserving finalizers finished" },
            { "type": "NamespaceContentRemaining", "status": "True", "message": "Some resources are remaining: pods. has 1 resource instances" },
        ] } });
        assert_eq!(
            why_it_stays(&target, &live),
            "namespace/shop (Some resources are remaining: pods. has 1 resource instances)"
        );
        assert_eq!(
            why_it_stays(
                &target,
                &json!({ "metadata": { "finalizers": ["shop.example.com/f"] } })
            ),
            "namespace/shop (finalizers shop.example.com/f)"
        );
    }
}
