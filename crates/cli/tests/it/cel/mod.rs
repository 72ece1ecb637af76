//! `kubewright cel` as a user meets it: values, types, costs, verdicts, and what it says about mistakes.

mod definitions;
mod expressions;
mod folder;
mod policies;
