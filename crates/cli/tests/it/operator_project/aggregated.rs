//! An operator with an aggregated API as a program, for the tests that run and deploy one.

use std::process::ExitCode;

use kube::CustomResource;
use kubewright_extension::{ExtensionServer, RowError, RowStore, Rows};
use kubewright_runtime::operator::Operator;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A boat that is for hire.
#[derive(CustomResource, JsonSchema, Serialize, Deserialize, Clone, Debug)]
#[kube(
    group = "hire.example.com",
    version = "v1",
    kind = "Boat",
    namespaced,
    printcolumn = r#"{"name":"Colour","type":"string","jsonPath":".spec.colour"}"#
)]
pub struct BoatSpec {
    /// What it is painted with.
    pub colour: String,
    /// How many people it carries.
    #[schemars(range(min = 1))]
    pub seats: Option<u32>,
}

/// A place where boats are moored.
#[derive(CustomResource, JsonSchema, Serialize, Deserialize, Clone, Debug)]
#[kube(group = "hire.example.com", version = "v1", kind = "Pier")]
pub struct PierSpec {
    /// How long it is.
    pub metres: u32,
}

/// The piers, which are where they are.
struct Map;

impl Rows<Pier> for Map {
    async fn list(&self, _: Option<&str>) -> Result<Vec<Pier>, RowError> {
        let pier = |(name, metres): (&str, u32)| Pier::new(name, PierSpec { metres });
        Ok([("north", 40), ("south", 25)].map(pier).into())
    }
}

fn main() -> ExitCode {
    let piers = RowStore::<Pier, _>::new(Map).watch_every(std::time::Duration::from_secs(10));
    Operator::new("shop")
        .extension(ExtensionServer::new().stored::<Boat>().rows(piers))
        .main()
}
