//! The kinds of `v1alpha1`.

mod telescope;

pub use telescope::*;
