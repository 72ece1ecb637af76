//! Reads the tables that Go wrote.

/// The rows of a table; the first line names the columns.
pub(crate) fn cells(table: &str) -> impl Iterator<Item = Vec<&str>> {
    table.lines().skip(1).map(|line| line.split('\t').collect())
}

/// The rows of a table that all have as many columns.
pub(crate) fn rows<const COLUMNS: usize>(table: &str) -> impl Iterator<Item = [&str; COLUMNS]> {
    cells(table).map(|cells| cells.try_into().unwrap_or_else(|cells| panic!("columns of {cells:?}")))
}

/// The bytes that hexadecimal digits spell.
pub(crate) fn bytes(digits: &str) -> Vec<u8> {
    let digit = |at: usize| u8::from_str_radix(&digits[at..at + 2], 16).unwrap();
    (0..digits.len()).step_by(2).map(digit).collect()
}

/// The float that these bits are.
pub(crate) fn bits(digits: &str) -> f64 {
    f64::from_bits(u64::from_str_radix(digits, 16).unwrap())
}
