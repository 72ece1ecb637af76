//! What the parser notes on the way: duplicate fields and numbers that are not plain integers.

use crate::{Decoded, NumberLiteral};

/// Upstream reports no more than this many strict complaints.
pub(crate) const MAX_COMPLAINTS: usize = 100;

/// How many bytes of paths a document may cost before further notes are dropped: paths repeat their prefix, so that
/// a hostile document could make them grow with the square of its size.
const PATH_BUDGET: usize = 1 << 20;

/// What one note costs beside its path.
const NOTE_COST: usize = 64;

/// The notes of one document.
pub(crate) struct Notes {
    duplicates: Vec<String>,
    duplicate_positions: Vec<usize>,
    numbers: Vec<NumberLiteral>,
    duplicate_budget: usize,
    number_budget: usize,
    too_deep: bool,
}

impl Notes {
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

    /// Notes that the field at `path` was given before; each path is listed once.
    pub(crate) fn duplicate(&mut self, position: usize, path: impl FnOnce() -> String) {
        if self.duplicate_budget == 0 || self.duplicates.len() >= MAX_COMPLAINTS {
            return;
        }
        let path = path();
        self.duplicate_budget = self.duplicate_budget.saturating_sub(path.len() + NOTE_COST);
        if !self.duplicates.contains(&path) {
            // An object is known to be given twice when it ends, after what is given twice in it.
            let at = self.duplicate_positions.partition_point(|&other| other < position);
            self.duplicates.insert(at, path);
            self.duplicate_positions.insert(at, position);
        }
    }

    /// Notes a number that was not written as a plain 64-bit integer. One that is out of range is never forgotten.
    pub(crate) fn number(&mut self, text: &str, out_of_range: bool, path: impl FnOnce() -> String) {
        let must_keep = out_of_range && !self.numbers.iter().any(|number| number.out_of_range);
        if self.number_budget == 0 && !must_keep {
            return;
        }
        let path = path();
        self.number_budget = self.number_budget.saturating_sub(path.len() + text.len() + NOTE_COST);
        self.numbers.push(NumberLiteral {
            path,
            text: text.to_owned(),
            out_of_range,
        });
    }

    pub(crate) fn left_out_deep_parts(&mut self) {
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
