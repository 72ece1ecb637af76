//! Definitions of custom resources and their schemas, compared with what the real server answers.

mod crd_definition;
mod crd_names;
mod crd_recorded;
mod documents;
mod schema_decoding;
mod schema_formats;
mod schema_properties;
mod schema_recorded;
mod schema_topology;
