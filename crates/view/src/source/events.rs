//! The Events of a cluster that is somewhere else: about which objects something is said. What is said is read when somebody looks at one of them.

use std::convert::Infallible;
use std::time::Duration;

use futures_util::StreamExt as _;
use kube::Api;
use kube::api::{DynamicObject, ListParams, WatchEvent, WatchParams};
use kubewright_runtime::object::Kind;

use crate::model::SharedModel;

/// How long after a watch that failed the next one begins. Whoever looks may have no right to it, and sees the Events of an object nevertheless when
/// it is chosen.
const AGAIN: Duration = Duration::from_secs(10);
/// So long a server keeps a watch open.
const WATCH_SECONDS: u32 = 290;

/// Tells the model of what is said from now on.
pub(super) async fn follow(client: kube::Client, model: &SharedModel) -> Infallible {
    let kind = Kind::named("", "v1", "Event", "events", true);
    let events: Api<DynamicObject> = Api::all_with(client, &kind.api_resource());
    loop {
        if watch(&events, model).await.is_err() {
            tokio::time::sleep(AGAIN).await;
        }
    }
}

async fn watch(events: &Api<DynamicObject>, model: &SharedModel) -> Result<(), kube::Error> {
    let now = events
        .list(&ListParams::default().limit(1))
        .await?
        .metadata
        .resource_version;
    let options = WatchParams::default().timeout(WATCH_SECONDS);
    let mut said = events.watch(&options, &now.unwrap_or_default()).await?.boxed();
    while let Some(event) = said.next().await {
        match event? {
            WatchEvent::Added(event) | WatchEvent::Modified(event) => {
                model.write(|model| model.said.about(&event.data["involvedObject"]["uid"]));
            }
            WatchEvent::Error(status) => return Err(kube::Error::Api(status)),
            WatchEvent::Deleted(_) | WatchEvent::Bookmark(_) => {}
        }
    }
    Ok(())
}
