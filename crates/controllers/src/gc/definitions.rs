//! Where kinds come from: definitions of custom ones, and API services.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kubewright_runtime::cache::Query;
use kubewright_runtime::client::Client;
use kubewright_runtime::object::{Kind, Record};
use kubewright_runtime::operator::Operator;
use serde::Deserialize;

/// A kind that a definition brings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Defined {
    pub(super) group: String,
    pub(super) plural: String,
}

/// Definitions of kinds are watched, to know when to look for kinds.
pub(super) fn declare(operator: Operator) -> Operator {
    operator.reads::<CustomResourceDefinition>()
}

/// Whether objects of a kind bring kinds with them.
pub(super) fn defines(kind: &Kind) -> bool {
    is_service(kind) || (kind.group() == "apiextensions.k8s.io" && kind.plural() == "customresourcedefinitions")
}

/// Whether objects of a kind say by their name which version of which group is served.
pub(super) fn is_service(kind: &Kind) -> bool {
    kind.group() == "apiregistration.k8s.io" && kind.plural() == "apiservices"
}

/// All kinds that are defined and that the server should serve.
pub(super) fn all(client: &Client) -> impl Iterator<Item = Defined> {
    let definitions = client.cache().informer(&Kind::of::<CustomResourceDefinition>());
    let records = definitions.and_then(|definitions| definitions.store().list(&Query::all()).ok());
    records.into_iter().flatten().filter_map(|record| defined(&record))
}

/// What is read of a definition; the schemas in it are long.
#[derive(Deserialize)]
struct Definition {
    spec: Spec,
    #[serde(default)]
    status: Status,
}

#[derive(Deserialize)]
struct Spec {
    group: String,
    names: Names,
    versions: Vec<Version>,
}

#[derive(Deserialize)]
struct Names {
    plural: String,
}

#[derive(Deserialize)]
struct Version {
    served: bool,
}

#[derive(Default, Deserialize)]
struct Status {
    #[serde(default)]
    conditions: Vec<Condition>,
}

#[derive(Deserialize)]
struct Condition {
    r#type: String,
    status: String,
}

fn defined(record: &Record) -> Option<Defined> {
    let definition: Definition = record.decode().ok()?;
    let established = |condition: &Condition| condition.r#type == "Established" && condition.status == "True";
    let is_served = definition.spec.versions.iter().any(|version| version.served)
        && definition.status.conditions.iter().any(established)
        && !record.is_deleting();
    is_served.then_some(Defined {
        group: definition.spec.group,
        plural: definition.spec.names.plural,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn read(status: &Value, served: bool) -> Option<Defined> {
        let definition = json!({
            "metadata": { "name": "trees.example.com" },
            "spec": {
                "group": "example.com", "names": { "plural": "trees", "kind": "Tree" },
                "versions": [{ "name": "v1", "served": served, "storage": true }],
            },
            "status": status,
        });
        let kind = Kind::of::<CustomResourceDefinition>();
        defined(&Record::parse(definition.to_string().as_bytes(), &kind).unwrap())
    }

    #[test]
    fn a_definition_brings_its_kind_once_it_is_established_and_served() {
        let established = json!({ "conditions": [{ "type": "Established", "status": "True" }] });
        assert_eq!(read(&established, true).unwrap().plural, "trees");
        assert_eq!(read(&established, false), None);
        assert_eq!(read(&json!({}), true), None);
        assert_eq!(read(&json!({ "conditions": [] }), true), None);
    }
}
