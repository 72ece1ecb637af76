//! `CustomResourceDefinitions` and their structural schemas: what a definition must look like, and what it makes of the
//! objects it defines. Everything here is pure: values in, values out, no I/O.

pub mod crd;
pub mod discovery;
pub mod openapi;
pub mod schema;

pub use schema::Schema;
