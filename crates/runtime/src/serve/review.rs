//! Reviews of tokens and of access through `kube`'s client.

use std::time::Duration;

use kube::core::params::PostParams;
use kube::core::request::Request;
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

use crate::random::Random;

/// apiserver's: how often a review is tried while the server fails,
const TRIES: u32 = 5;
/// the first pause,
const PAUSE: Duration = Duration::from_millis(500);
/// how much longer each next one is, how much of it is random,
const FACTOR: f64 = 1.5;
const JITTER: f64 = 0.2;
/// and how long it may take in all.
const PATIENCE: Duration = Duration::from_secs(10);

/// Creates a review and returns its status.
pub async fn review(
    client: &kube::Client,
    random: &Random,
    group: &str,
    kind: &str,
    plural: &str,
    spec: &Value,
) -> Result<Value, String> {
    let body = json!({ "apiVersion": format!("{group}/v1"), "kind": kind, "metadata": {}, "spec": spec });
    let body = body.to_string().into_bytes();
    let path = format!("/apis/{group}/v1/{plural}");
    let asking = async {
        let mut pause = PAUSE;
        for tries in 1.. {
            let request = Request::new(path.as_str()).create(&PostParams::default(), body.clone());
            let request = request.map_err(|error| error.to_string())?;
            match client.request::<Value>(request).await {
                Ok(mut review) => return Ok(review["status"].take()),
                Err(error) if tries < TRIES && is_passing(&error) => {
                    sleep(random.jittered(pause, JITTER)).await;
                    pause = pause.mul_f64(FACTOR);
                }
                Err(error) => return Err(error.to_string()),
            }
        }
        Err("not answered".to_owned())
    };
    timeout(PATIENCE, asking)
        .await
        .unwrap_or_else(|_| Err("not answered in time".to_owned()))
}

/// Whether it may go better the next time.
fn is_passing(error: &kube::Error) -> bool {
    match error {
        kube::Error::Api(status) => status.code == 429 || status.code >= 500,
        _ => true,
    }
}
