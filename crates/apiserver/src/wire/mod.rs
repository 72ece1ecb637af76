//! The HTTP side of a request: query parameters, media types, bodies and responses.

pub(crate) mod body;
pub(crate) mod negotiate;
pub(crate) mod query;
pub(crate) mod respond;
