//! The controllers of this operator.

pub mod telescope;
