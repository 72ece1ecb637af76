//! What is recorded: the scenarios, step by step, by the controller they are about.

mod certificates;
mod collection;
mod cron_jobs;
mod deployments;
mod jobs;
mod namespaces;
mod nodes;
mod policies;
mod quotas;
mod replica_sets;
mod services;
mod volumes;

use serde_json::{Value, json};

use super::driver::Act;

/// A sequence of acts, and what is looked at after each of them.
pub(crate) struct Scenario {
    /// Names the recording, and the namespace everything happens in.
    pub(crate) name: &'static str,
    pub(crate) acts: Vec<Act>,
    /// What is shown besides the workloads, Services and `ConfigMaps` of the namespace.
    pub(crate) shows: &'static [&'static str],
}

impl Scenario {
    fn also_showing(mut self, shows: &'static [&'static str]) -> Self {
        self.shows = shows;
        self
    }
}

fn scenario(name: &'static str, acts: Vec<Act>) -> Scenario {
    Scenario { name, acts, shows: &[] }
}

/// Every scenario, by what it is about.
pub(crate) fn by_area() -> [(&'static str, Vec<Scenario>); 12] {
    [
        ("deployments", deployments::all()),
        ("replica sets", replica_sets::all()),
        ("collection", collection::all()),
        ("jobs", jobs::all()),
        ("cron jobs", cron_jobs::all()),
        ("services", services::all()),
        ("namespaces", namespaces::all()),
        ("nodes", nodes::all()),
        ("policies", policies::all()),
        ("certificates", certificates::all()),
        ("volumes", volumes::all()),
        ("quotas", quotas::all()),
    ]
}

/// Every scenario.
pub(crate) fn all() -> Vec<Scenario> {
    by_area().into_iter().flat_map(|(_, scenarios)| scenarios).collect()
}

fn merge(into: &mut Value, change: Value) {
    let Value::Object(change) = change else {
        return;
    };
    for (key, value) in change {
        into[key] = value;
    }
}

/// The template of Pods that are told apart by their image.
fn template(image: &str) -> Value {
    json!({
        "metadata": { "labels": { "app": "web" } },
        "spec": { "containers": [{ "name": "main", "image": image }] },
    })
}

/// The same on a node, so that a Pod is deleted only when its kubelet says that it has stopped.
fn template_on_a_node(image: &str) -> Value {
    let mut template = template(image);
    template["spec"]["nodeName"] = "somewhere".into();
    template
}

/// A template of Pods that the server does not want.
fn refused_template() -> Value {
    let mut template = template("nginx:1");
    template["spec"]["priorityClassName"] = "absent".into();
    template
}

/// The template without what the server does not want.
fn mended_template() -> Value {
    let mut template = template("nginx:1");
    template["spec"]["priorityClassName"] = Value::Null;
    template
}

fn patch(kind: &str, name: &str, change: Value) -> Act {
    Act::Patch(kind.to_owned(), name.to_owned(), change)
}

fn delete(kind: &str, name: &str, policy: &str) -> Act {
    Act::Delete(kind.to_owned(), name.to_owned(), policy.to_owned())
}

fn end(count: usize, phase: &str) -> Act {
    Act::End(count, phase.to_owned())
}
