//! What controller-gen says of a Go type, we say of the Rust type: a kind for each of its markers, and the reference kinds.
//! `record` wrote down what controller-gen says; the table in `decisions.rs` has what we say otherwise, and why.
#![allow(missing_docs)]

mod acceptance;
mod access;
mod capabilities;
mod compare;
mod coverage;
mod decisions;
mod flat;
mod hooks;
mod kinds;
mod recorded;
mod words;

use kubewright::operator::Operator;
use kubewright_manifests::definitions::{DefinitionOptions, render};
use serde_json::Value;

/// The definitions of an operator's kinds as we write them.
fn rendered(operator: &Operator, options: &DefinitionOptions) -> Vec<Value> {
    render(&operator.describe(), options).unwrap_or_else(|problems| panic!("{problems}"))
}

/// What the tool writes about itself is no part of the comparison.
fn options() -> DefinitionOptions {
    DefinitionOptions {
        version_annotation: false,
        ..DefinitionOptions::default()
    }
}
