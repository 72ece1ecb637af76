//! Custom resource definitions that a case makes: waited for when given, deleted when the case is over.

use bytes::Bytes;
use http::header::{ACCEPT, USER_AGENT};
use http::{Request, StatusCode};
use serde_json::Value;
use tokio::time::{Instant, sleep};

use super::{PATIENCE, POLL, Player, StepError, content};

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

impl Player<'_> {
    /// Waits until the kind of a given definition is served in every version it serves.
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

    async fn status(&mut self, path: &str) -> Result<StatusCode, StepError> {
        let request = Request::get(path).header(USER_AGENT, "given").body(Bytes::new())?;
        let answer = self.send(request).await?;
        let status = answer.status();
        drop(content(answer).await?);
        Ok(status)
    }

    /// Deletes the definitions whose names contain what makes the case's names unique.
    pub(super) async fn forget_kinds(&mut self, unique: &str) {
        for name in self.definitions().await.unwrap_or_default() {
            if name.contains(unique)
                && let Ok(request) = Request::delete(format!("{DEFINITIONS}/{name}"))
                    .header(USER_AGENT, "given")
                    .body(Bytes::new())
                && let Ok(answer) = self.send(request).await
            {
                drop(content(answer).await);
            }
        }
    }

    async fn definitions(&mut self) -> Result<Vec<String>, StepError> {
        let request = Request::get(DEFINITIONS)
            .header(
                ACCEPT,
                "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
            )
            .header(USER_AGENT, "given");
        let answer = self.send(request.body(Bytes::new())?).await?;
        let list = content(answer).await?;
        let items = list["body"]["items"].as_array().cloned().unwrap_or_default();
        Ok(items
            .iter()
            .filter_map(|item| item["metadata"]["name"].as_str().map(str::to_owned))
            .collect())
    }
}
