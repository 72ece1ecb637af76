//! What an endpoint never owns (S12).

use super::element::PathElement;
use super::set::{FieldSet, Node};

/// The fields that an endpoint resets before it stores an object, and so never owns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FieldFilter {
    /// These fields and everything below them are left out.
    Exclude(FieldSet),
    /// Only fields on the way to, at or below one of these patterns are kept; `*` stands for any one step.
    Include(Vec<Vec<Box<str>>>),
}

impl FieldFilter {
    /// Leaves out the given fields and what is below them: `FieldFilter::exclude(&["status"])`, `&["metadata.labels"]`.
    pub fn exclude(paths: &[&str]) -> Self {
        Self::Exclude(FieldSet::of_fields(paths))
    }

    /// Keeps only what is below the given fields; a step `*` matches anything: `&["spec.containers.*.resources"]`.
    pub fn include(paths: &[&str]) -> Self {
        Self::Include(
            paths
                .iter()
                .map(|path| path.split('.').map(Into::into).collect())
                .collect(),
        )
    }

    /// The part of a set that the endpoint may own.
    #[must_use]
    pub fn filter(&self, set: &FieldSet) -> FieldSet {
        match self {
            Self::Exclude(excluded) => set.recursive_difference(excluded),
            Self::Include(patterns) => {
                let patterns: Vec<&[Box<str>]> = patterns.iter().map(Vec::as_slice).collect();
                included(set, &patterns)
            }
        }
    }
}

fn included(set: &FieldSet, patterns: &[&[Box<str>]]) -> FieldSet {
    if patterns.iter().any(|pattern| pattern.is_empty()) {
        return set.clone();
    }
    let mut kept = Vec::new();
    for node in &set.nodes {
        let below: Vec<&[Box<str>]> = patterns
            .iter()
            .filter_map(|pattern| pattern.split_first())
            .filter(|(step, _)| matches_step(step, &node.element))
            .map(|(_, rest)| rest)
            .collect();
        if below.is_empty() {
            continue;
        }
        let children = included(&node.children, &below);
        if node.member || !children.is_empty() {
            kept.push(Node {
                element: node.element.clone(),
                member: node.member,
                children,
            });
        }
    }
    FieldSet { nodes: kept }
}

fn matches_step(step: &str, element: &PathElement) -> bool {
    step == "*" || matches!(element, PathElement::Field(name) if **name == *step)
}
