//! From types to manifests: what is rendered, what an API server says to it, and that controller-gen says the same.

mod any_schema;
mod attributed;
mod cluster;
mod definitions;
mod equivalence;
mod kinds;
mod rbac_check;
mod roles;
mod rules;
mod samples;
mod shapes;
mod values;
