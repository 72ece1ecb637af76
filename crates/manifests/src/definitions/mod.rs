//! The `CustomResourceDefinition`s of an operator: its kinds, each with all its versions, as a cluster accepts them.
//! All problems of all types are reported at once, each with the type, the field and what to write instead.

mod descriptions;
mod locate;
mod notes;
mod numbers;
mod root;
mod versions;

use std::collections::BTreeMap;

use kubewright_description::{DefinitionDescription, Description};
use serde_json::{Value, json};

use crate::{Problem, Problems};

pub use descriptions::Descriptions;
pub use locate::locate;
pub use notes::{Note, notes};

/// The annotation with the version of the generator that wrote a definition.
pub const VERSION_ANNOTATION: &str = "manifests.kubewright.dev/version";

/// Where an API server sends objects to be converted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebhookService {
    /// The Service's namespace.
    pub namespace: String,
    /// The Service's name.
    pub name: String,
}

impl WebhookService {
    /// The one that an installation of an operator has.
    pub fn of(operator: &str, namespace: &str) -> Self {
        WebhookService {
            namespace: namespace.to_owned(),
            name: format!("{operator}-webhook-service"),
        }
    }

    /// The `conversion` of a definition whose objects are sent there.
    pub(crate) fn conversion(&self) -> Value {
        json!({
            "strategy": "Webhook",
            "webhook": {
                "clientConfig": {
                    "service": { "namespace": self.namespace, "name": self.name, "path": "/convert" },
                },
                "conversionReviewVersions": ["v1"],
            },
        })
    }
}

/// How definitions are written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DefinitionOptions {
    /// How much of the descriptions is kept; all, by default.
    pub descriptions: Descriptions,
    /// The metadata of templates (as in a Pod's) keeps name, labels and the like; on by default. Without it a cluster prunes
    /// them.
    pub embedded_metadata: bool,
    /// Where kinds that are converted are sent. Without it, no definition says how it is converted; that is so by default.
    pub conversion: Option<WebhookService>,
    /// The certificate, as `namespace/name`, whose authority cert-manager is to put into what is converted. Without it, the
    /// manager does so itself.
    pub inject_ca_from: Option<String>,
    /// Whether definitions say which version of the generator wrote them; on by default.
    pub version_annotation: bool,
}

impl Default for DefinitionOptions {
    fn default() -> Self {
        DefinitionOptions {
            descriptions: Descriptions::Whole,
            embedded_metadata: true,
            conversion: None,
            inject_ca_from: None,
            version_annotation: true,
        }
    }
}

/// The definitions of an operator's kinds, ordered by name, or everything that is wrong with them.
///
/// ```
/// use kube::CustomResource;
/// use kubewright_manifests::definitions::{DefinitionOptions, render};
/// use kubewright_runtime::operator::Operator;
/// use schemars::JsonSchema;
/// use serde::{Deserialize, Serialize};
///
/// #[derive(CustomResource, JsonSchema, Serialize, Deserialize, Clone, Debug)]
/// #[kube(group = "example.com", version = "v1", kind = "Tree", namespaced)]
/// struct TreeSpec {
///     height: u32,
/// }
///
/// let operator = Operator::new("forest").resource::<Tree>().describe();
/// let definitions = render(&operator, &DefinitionOptions::default()).unwrap();
/// assert_eq!(definitions[0]["metadata"]["name"], "trees.example.com");
/// let schema = &definitions[0]["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
/// assert_eq!(schema["properties"]["spec"]["properties"]["height"]["format"], "int64");
/// ```
pub fn render(operator: &Description, options: &DefinitionOptions) -> Result<Vec<Value>, Problems> {
    let mut problems = Vec::new();
    let mut rendered: BTreeMap<String, (&str, Value)> = BTreeMap::new();
    for kind in kinds(operator) {
        let Some(mut definition) = versions::merge(&kind, operator, options, &mut problems) else {
            continue;
        };
        numbers::make_integers(&mut definition);
        let name = name_of(&definition).to_owned();
        let ty = kind.versions[0].ty.as_str();
        if let Some((other, _)) = rendered.insert(name.clone(), (ty, definition)) {
            let problem = format!("its definition would be named {name}, as is that of {other}");
            problems.push(Problem::of_type(
                ty,
                problem,
                "give one of them another plural (`plural = \"…\"`)",
            ));
        }
    }
    if !problems.is_empty() {
        return Err(Problems(problems));
    }
    Ok(rendered.into_values().map(|(_, definition)| definition).collect())
}

/// The file in `config/crd/bases` that a definition belongs in.
pub fn file_name(definition: &Value) -> String {
    let text = |pointer: &str| definition.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    format!("{}_{}.yaml", text("/spec/group"), text("/spec/names/plural"))
}

/// A kind with all its versions, ordered by name as controller-gen does it.
struct KindVersions<'d> {
    versions: Vec<&'d DefinitionDescription>,
}

/// The kinds of an operator, ordered by group and name. A type that is named twice is there once.
fn kinds(operator: &Description) -> Vec<KindVersions<'_>> {
    let mut kinds: BTreeMap<(&str, &str), Vec<&DefinitionDescription>> = BTreeMap::new();
    for definition in &operator.definitions {
        let versions = kinds.entry((&definition.group, &definition.kind)).or_default();
        if !versions.contains(&definition) {
            versions.push(definition);
        }
    }
    let sorted = kinds.into_values().map(|mut versions| {
        versions.sort_by(|one, other| one.version.cmp(&other.version));
        KindVersions { versions }
    });
    sorted.collect()
}

fn name_of(definition: &Value) -> &str {
    definition
        .pointer("/metadata/name")
        .and_then(Value::as_str)
        .unwrap_or_default()
}
