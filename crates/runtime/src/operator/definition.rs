//! Describing the kinds an operator brings with it: from that a tool makes `CustomResourceDefinition`s.

use std::any::type_name;
use std::panic::{AssertUnwindSafe, catch_unwind};

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::CustomResourceExt;
use kubewright_description::{DefinitionDescription, DefinitionProblem};
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Value, json};

use super::Operator;
use crate::object::{Kind, Object};

/// Describes a kind. It is called only by `describe`: an operator that runs does not need schemas.
pub(super) type Define = fn() -> DefinitionDescription;

impl Operator {
    /// A kind of its own: its definition is among the operator's manifests, and a test installs it.
    ///
    /// Several versions of one kind are several calls.
    ///
    /// ```
    /// use kube::CustomResource;
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
    /// let tree = &Operator::new("forest").resource::<Tree>().describe().definitions[0];
    /// assert_eq!((tree.kind.as_str(), tree.version.as_str()), ("Tree", "v1"));
    /// assert_eq!(tree.definition["spec"]["names"]["plural"], "trees");
    /// assert_eq!(tree.schema["required"], serde_json::json!(["spec"]));
    /// ```
    pub fn resource<K: Object + CustomResourceExt + JsonSchema>(mut self) -> Self {
        self.definitions.push(describe_kind::<K>);
        self
    }
}

/// One version of a kind as data: its names, and its schema as the type has it.
pub fn describe_kind<K: Object + CustomResourceExt + JsonSchema>() -> DefinitionDescription {
    let kind = Kind::of::<K>();
    // A schema that kube's own derive writes may be one it cannot rewrite; then it panics.
    let (definition, problem) = match catch_unwind(AssertUnwindSafe(K::crd)) {
        Ok(definition) => (without_schema(&definition), None),
        Err(_) => (bare(&kind), Some(derive_panicked())),
    };
    DefinitionDescription {
        group: kind.group().to_owned(),
        version: kind.version().to_owned(),
        kind: kind.kind().to_owned(),
        plural: kind.plural().to_owned(),
        namespaced: kind.is_namespaced(),
        ty: type_name::<K>().to_owned(),
        definition,
        schema: SchemaGenerator::default().into_root_schema_for::<K>().into(),
        problem,
    }
}

fn derive_panicked() -> DefinitionProblem {
    let message = "`#[derive(CustomResource)]` cannot write the schema of this type and panicked, so its columns and names are not \
                   known";
    DefinitionProblem {
        message: message.to_owned(),
        hint: "write `#[kubewright::resource(…)]` in place of the derive and of `#[kube(…)]`".to_owned(),
    }
}

fn without_schema(definition: &CustomResourceDefinition) -> Value {
    let mut definition = json!(definition);
    if let Some(versions) = definition["spec"]["versions"].as_array_mut() {
        for version in versions.iter_mut().filter_map(Value::as_object_mut) {
            version.remove("schema");
        }
    }
    definition
}

/// What is known of a kind without its definition.
fn bare(kind: &Kind) -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": { "name": format!("{}.{}", kind.plural(), kind.group()) },
        "spec": {
            "group": kind.group(),
            "names": { "kind": kind.kind(), "plural": kind.plural(), "singular": kind.kind().to_lowercase() },
            "scope": if kind.is_namespaced() { "Namespaced" } else { "Cluster" },
            "versions": [{ "name": kind.version(), "served": true, "storage": true }],
        },
    })
}

#[cfg(test)]
mod tests {
    use kube::CustomResource;
    use serde::{Deserialize, Serialize};

    use super::*;

    #[derive(CustomResource, JsonSchema, Serialize, Deserialize, Clone, Debug)]
    #[kube(
        group = "example.com",
        version = "v1",
        kind = "Tree",
        status = "TreeStatus",
        shortname = "tr",
        printcolumn = r#"{"name":"Height","type":"integer","jsonPath":".spec.height"}"#
    )]
    struct TreeSpec {
        height: u32,
    }

    #[derive(JsonSchema, Serialize, Deserialize, Clone, Debug)]
    struct TreeStatus {
        leaves: u32,
    }

    #[derive(JsonSchema, Serialize, Deserialize, Clone, Debug)]
    #[serde(tag = "type")]
    enum Season {
        Spring { blossoms: u32 },
        Autumn { leaves: u32 },
    }

    #[derive(CustomResource, JsonSchema, Serialize, Deserialize, Clone, Debug)]
    #[kube(group = "example.com", version = "v1", kind = "Garden", namespaced)]
    struct GardenSpec {
        season: Season,
    }

    #[test]
    fn a_definition_is_what_the_derive_says_and_the_schema_as_the_type_has_it() {
        let tree = describe_kind::<Tree>();
        assert_eq!(tree.definition["spec"]["names"]["shortNames"], json!(["tr"]));
        let version = &tree.definition["spec"]["versions"][0];
        assert_eq!(version["additionalPrinterColumns"][0]["name"], "Height");
        assert_eq!(version["subresources"]["status"], json!({}));
        assert_eq!(version.get("schema"), None);
        assert!(!tree.namespaced && tree.problem.is_none());
        // Not kube's rewriting of it: the bounds and formats are those of the type.
        assert_eq!(
            tree.schema["$defs"]["TreeSpec"]["properties"]["height"]["format"],
            "uint32"
        );
    }

    #[test]
    fn a_type_whose_derive_panics_is_told_of_and_keeps_its_names() {
        let garden = describe_kind::<Garden>();
        assert!(garden.problem.unwrap().hint.contains("kubewright::resource"));
        assert_eq!(garden.definition["metadata"]["name"], "gardens.example.com");
        assert_eq!(garden.definition["spec"]["scope"], "Namespaced");
    }
}
