//! Waits for the custom resource definitions and the aggregated APIs of a `given` section.

use bytes::Bytes;
use http::header::USER_AGENT;
use http::{Request, StatusCode};
use serde_json::Value;
use tokio::time::{Instant, sleep};

use super::{CasePlayer, PATIENCE, POLL, StepError, content};

impl CasePlayer<'_> {
    /// Waits until the server serves a definition in all of its served versions.
    pub(super) async fn served(&mut self, definition: &Value) -> Result<(), StepError> {
        let spec = &definition["spec"];
        let (Some(group), Some(plural)) = (spec["group"].as_str(), spec["names"]["plural"].as_str()) else {
            return Err(StepError::Nameless);
        };
        let deadline = Instant::now() + PATIENCE;
        for version in spec["versions"].as_array().into_iter().flatten() {
            if version["served"] == false {
                continue;
            }
            let name = version["name"].as_str().ok_or(StepError::Nameless)?;
            let path = format!("/apis/{group}/{name}/{plural}?limit=1");
            while self.status(&path).await? != StatusCode::OK {
                if Instant::now() >= deadline {
                    return Err(StepError::Given(path, Value::Null));
                }
                sleep(POLL).await;
            }
        }
        Ok(())
    }

    /// Waits until the server passes requests for an `APIService` on.
    pub(super) async fn passed_on(&mut self, service: &Value) -> Result<(), StepError> {
        let (Some(group), Some(version)) = (service["spec"]["group"].as_str(), service["spec"]["version"].as_str())
        else {
            return Err(StepError::Nameless);
        };
        let deadline = Instant::now() + PATIENCE;
        let path = format!("/apis/{group}/{version}");
        while self.status(&path).await? != StatusCode::OK {
            if Instant::now() >= deadline {
                return Err(StepError::Given(path, Value::Null));
            }
            sleep(POLL).await;
        }
        Ok(())
    }

    async fn status(&mut self, path: &str) -> Result<StatusCode, StepError> {
        let request = Request::get(path).header(USER_AGENT, "given").body(Bytes::new())?;
        let answer = self.send(request).await?;
        let status = answer.status();
        drop(content(answer).await?);
        Ok(status)
    }
}
