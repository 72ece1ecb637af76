//! The result of reading a document: its value and what was noticed while reading it.

use serde_json::Value;

/// A document that was read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Decoded {
    /// The value; of a field given twice, the last.
    pub value: Value,
    /// The paths of fields given twice, each once, in the order found, as upstream prints them (`spec.ports[0].name`).
    /// Only JSON has them: in YAML upstream sees [`Decoded::already_set`] instead (W2).
    pub duplicates: Vec<String>,
    /// Where each of them was found in the text.
    pub(crate) duplicate_positions: Vec<usize>,
    /// Upstream's whole complaint about keys that a YAML document sets twice:
    /// `yaml: unmarshal errors:` and a line for each.
    pub already_set: Option<String>,
    /// The numbers that are not plain 64-bit integers, in the order found, as they were written.
    pub numbers: Vec<NumberLiteral>,
    /// Parts that nest deeper than [`KEPT_DEPTH`] were replaced by null.
    pub too_deep: bool,
}

/// How deep a value may nest. Upstream accepts documents that nest to 10 000, and so do the decoders here; but no kind
/// has fields that deep, and a value that nests without bound overflows the stack of whoever walks or drops it.
pub const KEPT_DEPTH: usize = 256;

/// A number as it was written, for messages such as `cannot unmarshal number 1e3 into …`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NumberLiteral {
    /// Where it is, as upstream prints paths (`spec.ports[0].port`).
    pub path: String,
    /// Its text.
    pub text: String,
    /// Whether it is too large for a 64-bit float; its value is then the largest one.
    pub out_of_range: bool,
}

impl Decoded {
    /// The text of the number at `path`, if it was not written as a plain integer.
    pub fn number_at(&self, path: &str) -> Option<&str> {
        self.numbers
            .iter()
            .rev()
            .find(|number| number.path == path)
            .map(|number| number.text.as_str())
    }

    /// What an untyped decoder answers to a number that no float can hold.
    pub fn range_error(&self) -> Option<String> {
        let number = self.numbers.iter().find(|number| number.out_of_range)?;
        Some(format!(
            "json: cannot unmarshal number {} into Go value of type float64",
            number.text
        ))
    }
}
