//! `CustomResourceDefinition`s in a cluster: when they are ready, and how many objects would go with them.

use std::time::Duration;

use kube::api::ListParams;
use kube::core::Request;
use kubewright_runtime::object::Kind;
use serde_json::Value;
use tokio::time::{Instant, sleep};

use super::{Cluster, Error, Reference, found};

/// Says whose definition it is, on each one that is installed.
const PROJECT_LABEL: &str = "kubewright.dev/project";

const ESTABLISHED_WITHIN: Duration = Duration::from_secs(30);
/// Names that another definition has are given up seldom.
const ACCEPTED_WITHIN: Duration = Duration::from_secs(3);
const PAUSE: Duration = Duration::from_millis(100);

/// The definition with the project's name on it.
pub fn labelled(definition: &Value, project: &str) -> Value {
    let mut definition = definition.clone();
    if let Some(definition) = definition.as_object_mut() {
        let metadata = definition
            .entry("metadata")
            .or_insert_with(|| Value::Object(serde_json::Map::new()));
        if !metadata["labels"].is_object() {
            metadata["labels"] = Value::Object(serde_json::Map::new());
        }
        metadata["labels"][PROJECT_LABEL] = project.into();
    }
    definition
}

/// The definition of this name.
pub fn reference(name: &str) -> Reference {
    Reference::new("apiextensions.k8s.io/v1", "CustomResourceDefinition", None, name)
}

/// Returns once the kinds of a definition are served.
pub(super) async fn wait_until_established(cluster: &Cluster, definition: &Reference) -> Result<(), Error> {
    let began = Instant::now();
    loop {
        let live = cluster.get(definition).await?.unwrap_or_default();
        if condition(&live, "Established").is_some_and(|condition| condition["status"] == "True") {
            return Ok(());
        }
        let refused = condition(&live, "NamesAccepted").filter(|condition| condition["status"] == "False");
        let patience = if refused.is_some() {
            ACCEPTED_WITHIN
        } else {
            ESTABLISHED_WITHIN
        };
        if began.elapsed() >= patience {
            let why = refused.and_then(|condition| condition["message"].as_str());
            let why = why.map(|why| format!(": {why}")).unwrap_or_default();
            return Err(Error::NotEstablished(patience.as_secs(), why));
        }
        sleep(PAUSE).await;
    }
}

fn condition<'a>(object: &'a Value, name: &str) -> Option<&'a Value> {
    let conditions = object["status"]["conditions"].as_array()?;
    conditions.iter().find(|condition| condition["type"] == name)
}

impl Cluster {
    /// The definitions of a project.
    pub async fn definitions_of(&self, project: &str) -> Result<Vec<Value>, Error> {
        let kind = self.kind(&reference("any")).await?;
        self.list(&kind, None, &format!("{PROJECT_LABEL}={project}")).await
    }

    /// How many objects a definition has.
    pub async fn count_objects(&self, definition: &Value) -> Result<u64, Error> {
        let spec = &definition["spec"];
        let versions = spec["versions"].as_array().into_iter().flatten();
        let mut served = versions.filter(|version| version["served"] == true);
        let Some(version) = served.find_map(|version| version["name"].as_str()) else {
            return Ok(0);
        };
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let kind = Kind::named(
            &text(&spec["group"]),
            version,
            &text(&spec["names"]["kind"]),
            &text(&spec["names"]["plural"]),
            spec["scope"] == "Namespaced",
        );
        let request = Request::new(kind.path(None)).list_metadata(&ListParams::default().limit(1));
        let Some(page) = found(self.send(request).await)? else {
            return Ok(0);
        };
        let here = page["items"].as_array().map_or(0, Vec::len) as u64;
        Ok(here + page["metadata"]["remainingItemCount"].as_u64().unwrap_or_default())
    }
}
