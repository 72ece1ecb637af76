//! The kinds of this operator, by version.

pub mod v1alpha1;
