//! Reads the tables that Go wrote.

/// The rows of a table; the first line names the columns.
pub(crate) fn rows<const COLUMNS: usize>(table: &str) -> impl Iterator<Item = [&str; COLUMNS]> {
    table.lines().skip(1).map(|line| {
        let cells: Vec<&str> = line.split('\t').collect();
        cells.try_into().unwrap_or_else(|_| panic!("columns of {line}"))
    })
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
