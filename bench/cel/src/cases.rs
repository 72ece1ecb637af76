//! What is measured (`cases.json`, read by both sides) and what a side answers.

use serde::Deserialize;
use serde_json::Value as Json;

/// The rules, and the schema and object they run on.
#[derive(Deserialize)]
pub(crate) struct Cases {
    pub(crate) schema: Json,
    pub(crate) object: Json,
    pub(crate) rules: Vec<Rule>,
}

/// A rule and what it stands for.
#[derive(Deserialize)]
pub(crate) struct Rule {
    pub(crate) name: String,
    pub(crate) rule: String,
}

/// The text both sides read.
pub(crate) const TEXT: &str = include_str!("../cases.json");

impl Cases {
    pub(crate) fn read() -> Result<Cases, serde_json::Error> {
        serde_json::from_str(TEXT)
    }
}

/// What one side did.
#[derive(Deserialize)]
pub(crate) struct Figures {
    pub(crate) version: String,
    pub(crate) rules: Vec<RuleFigures>,
    /// Nanoseconds to compile all rules as those of one schema, with environments and estimates.
    pub(crate) schema: f64,
}

/// What one side did with one rule; times are nanoseconds.
#[derive(Deserialize)]
pub(crate) struct RuleFigures {
    pub(crate) name: String,
    pub(crate) compile: f64,
    pub(crate) eval: f64,
    /// Without anything of Kubernetes around the object; only the peer has such a form.
    pub(crate) plain: Option<f64>,
    pub(crate) allocations: f64,
    pub(crate) verdict: bool,
    pub(crate) cost: u64,
    pub(crate) estimate: u64,
}
