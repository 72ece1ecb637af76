//! The type model of the built-in kinds, compared with what the real server answers.

mod any_document;
mod defaults;
mod facts;
mod openapi;
mod protobuf;
mod support;
mod type_errors;
mod unknown_fields;
