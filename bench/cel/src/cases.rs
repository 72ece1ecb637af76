//! The cases (`cases.json`, which both programs read) and the figures that a program returns.

use serde::Deserialize;
use serde_json::Value as Json;

/// The rules, and the schema and object they run on.
#[derive(Deserialize)]
pub(crate) struct Cases {
    pub(crate) schema: Json,
    pub(crate) object: Json,
    pub(crate) rules: Vec<Rule>,
}

/// A rule and a name for the kind of rule that it represents.
#[derive(Deserialize)]
pub(crate) struct Rule {
    pub(crate) name: String,
    pub(crate) rule: String,
}

/// The text that both programs read.
pub(crate) const TEXT: &str = include_str!("../cases.json");

impl Cases {
    pub(crate) fn read() -> Result<Cases, serde_json::Error> {
        serde_json::from_str(TEXT)
    }
}

/// The figures of one program.
#[derive(Deserialize)]
pub(crate) struct Figures {
    pub(crate) version: String,
    pub(crate) rules: Vec<RuleFigures>,
    /// Nanoseconds to compile all rules as the rules of one schema, including environments and estimates.
    pub(crate) schema: f64,
}

/// The figures of one program for one rule. Times are nanoseconds.
#[derive(Deserialize)]
pub(crate) struct RuleFigures {
    pub(crate) name: String,
    pub(crate) compile: f64,
    pub(crate) eval: f64,
    /// The time to evaluate on a plain Go map. Only the Go program has it.
    pub(crate) plain: Option<f64>,
    pub(crate) allocations: f64,
    pub(crate) verdict: bool,
    pub(crate) cost: u64,
    pub(crate) estimate: u64,
}
