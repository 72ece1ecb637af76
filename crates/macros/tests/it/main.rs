//! Conversions between versions, derived.

mod convert;
mod crate_path;
