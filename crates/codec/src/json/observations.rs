//! What the parsers report beside the value: duplicate fields and numbers that are not plain integers.

use crate::{Decoded, NumberLiteral};

/// Upstream reports no more than this many strict complaints.
pub(crate) const MAX_COMPLAINTS: usize = 100;

/// How many bytes of paths a document may cost before further observations are dropped: paths repeat their
/// prefix, so that a hostile document could make them grow with the square of its size.
const PATH_BUDGET: usize = 1 << 20;

/// What one observation costs beside its path.
const OBSERVATION_COST: usize = 64;

/// What was observed while one document was read.
pub(crate) struct Observations {
    duplicates: Vec<String>,
    duplicate_positions: Vec<usize>,
    numbers: Vec<NumberLiteral>,
    duplicate_budget: usize,
    number_budget: usize,
    too_deep: bool,
}

impl Observations {
    pub(crate) fn new() -> Self {
        Self {
            duplicates: Vec::new(),
            duplicate_positions: Vec::new(),
            numbers: Vec::new(),
            duplicate_budget: PATH_BUDGET,
            number_budget: PATH_BUDGET,
            too_deep: false,
        }
    }

    /// Records that the field at `path` was given before; each path is listed once.
    pub(crate) fn record_duplicate(&mut self, position: usize, path: impl FnOnce() -> String) {
        if self.duplicate_budget == 0 || self.duplicates.len() >= MAX_COMPLAINTS {
            return;
        }
        let path = path();
        self.duplicate_budget = self.duplicate_budget.saturating_sub(path.len() + OBSERVATION_COST);
        if !self.duplicates.contains(&path) {
            // An object is known to be given twice when it ends, after what is given twice in it.
            let at = self.duplicate_positions.partition_point(|&other| other < position);
            self.duplicates.insert(at, path);
            self.duplicate_positions.insert(at, position);
        }
    }

    /// Records a number that was not written as a plain 64-bit integer. One that is out of range is never dropped.
    pub(crate) fn record_number(&mut self, text: &str, out_of_range: bool, path: impl FnOnce() -> String) {
        let must_keep = out_of_range && !self.numbers.iter().any(|number| number.out_of_range);
        if self.number_budget == 0 && !must_keep {
            return;
        }
        let path = path();
        self.number_budget = self
            .number_budget
            .saturating_sub(path.len() + text.len() + OBSERVATION_COST);
        self.numbers.push(NumberLiteral {
            path,
            text: text.to_owned(),
            out_of_range,
        });
    }

    pub(crate) fn mark_too_deep(&mut self) {
        self.too_deep = true;
    }

    pub(crate) fn finish(self, value: serde_json::Value) -> Decoded {
        Decoded {
            value,
            duplicates: self.duplicates,
            duplicate_positions: self.duplicate_positions,
            already_set: None,
            numbers: self.numbers,
            too_deep: self.too_deep,
        }
    }
}
