//! Waiting until the API server has found an aggregated API, and saying why it has not.

use std::time::Duration;

use kubewright_cluster::progress::{Progress, duration};
use kubewright_cluster::{Cluster, Error, Reference};
use serde_json::Value;
use tokio::time::{Instant, sleep};

const PAUSE: Duration = Duration::from_millis(250);

/// Why an aggregated API is not there.
#[derive(Debug, thiserror::Error)]
pub(super) enum AvailabilityError {
    #[error("{api_service} is not available after {}: {why}", duration(*.timeout))]
    TooLate {
        api_service: Reference,
        timeout: Duration,
        why: String,
    },
    #[error("{0} was deleted while it was waited for")]
    Gone(Reference),
    #[error(transparent)]
    Cluster(#[from] Error),
}

/// Waits until an `APIService` is available.
pub(super) async fn wait(
    cluster: &Cluster,
    api_service: &Reference,
    timeout: Duration,
    progress: &Progress,
) -> Result<(), AvailabilityError> {
    let step = progress.step(format!("Waiting until {api_service} is available"));
    let began = Instant::now();
    loop {
        let live = cluster.get(api_service).await?;
        let live = live.ok_or_else(|| AvailabilityError::Gone(api_service.clone()))?;
        let Some(why) = missing(&live) else {
            step.done();
            return Ok(());
        };
        if began.elapsed() >= timeout {
            return Err(AvailabilityError::TooLate {
                api_service: api_service.clone(),
                timeout,
                why,
            });
        }
        step.waiting(why);
        sleep(PAUSE).await;
    }
}

/// What an `APIService` is not available for, in the API server's words; `None` if it is.
fn missing(api_service: &Value) -> Option<String> {
    let conditions = api_service["status"]["conditions"].as_array();
    let available = conditions
        .into_iter()
        .flatten()
        .find(|condition| condition["type"] == "Available");
    match available {
        Some(condition) if condition["status"] == "True" => None,
        Some(condition) => Some(condition["message"].as_str().unwrap_or_default().to_owned()),
        None => Some("waiting for the API server to look at it".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_missing_is_said_in_the_words_of_the_api_server() {
        let with = |status: &str, message: &str| {
            let condition = json!({ "type": "Available", "status": status, "message": message });
            missing(&json!({ "status": { "conditions": [condition] } }))
        };
        assert_eq!(with("True", "all checks passed"), None);
        let why = "endpoints for service/shop in \"a\" have no addresses";
        assert_eq!(with("False", why).as_deref(), Some(why));
        assert_eq!(
            missing(&json!({})).as_deref(),
            Some("waiting for the API server to look at it")
        );
    }
}
