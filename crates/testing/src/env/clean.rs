//! Deletes what a test made on a cluster that goes on existing: all but the definitions, as envtest does.

use std::time::Duration;

use kube::Config;
use kubewright_runtime::client::Client;
use kubewright_runtime::object::{Kind, ObjectKey};
use serde_json::Value;

use super::builder::namespace_object;
use super::live;
use crate::install::kind_of;

/// The timeout of all these requests together.
const LONGEST: Duration = Duration::from_secs(10);

/// Deletes the test's namespace and what was installed. Objects that do not exist any more are no error.
pub(super) async fn remove(client: &Client, namespace: &str, installed: impl Iterator<Item = &Value>) {
    let mut targets: Vec<_> = target(&namespace_object(namespace)).into_iter().collect();
    targets.extend(installed.filter_map(target));
    for (kind, key) in targets {
        let _ = client.dynamic(kind).delete(&key).await;
    }
}

/// The same where nothing can be awaited: in a thread of its own, since the test's runtime may be at its end.
pub(super) fn remove_later<'a>(config: &Config, namespace: &str, installed: impl Iterator<Item = &'a Value>) {
    let (config, namespace) = (config.clone(), namespace.to_owned());
    let installed: Vec<Value> = installed.cloned().collect();
    let cleaning = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let Ok(runtime) = runtime else { return };
        runtime.block_on(async {
            if let Ok(kube) = kube::Client::try_from(config) {
                let _ = tokio::time::timeout(LONGEST, remove(&live(kube), &namespace, installed.iter())).await;
            }
        });
    });
    let _ = cleaning.join();
}

fn target(object: &Value) -> Option<(Kind, ObjectKey)> {
    let kind = kind_of(object).filter(|kind| kind.kind() != "CustomResourceDefinition")?;
    let metadata = &object["metadata"];
    let key = ObjectKey::new(metadata["namespace"].as_str(), metadata["name"].as_str()?);
    Some((kind, key))
}
