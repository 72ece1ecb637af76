//! Exact resource quantities (`100m`, `1.5Gi`, `2e3`): parsed, compared, added and printed as the API machinery does.

mod decimal;
mod quantity;

pub use quantity::{Format, ParseError, Quantity};
