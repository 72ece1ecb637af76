//! How Go prints what it prints.

pub(crate) mod float;
mod quote;
mod utf8;

pub use float::{general as float, general_32 as float_32};
pub(crate) use quote::push_escaped;
pub use quote::quote;
pub(crate) use utf8::repair;
