//! The HTTP side of a request: query parameters, media types, bodies and responses.

pub(crate) mod body;
pub(crate) mod bookmark;
pub(crate) mod continue_token;
pub(crate) mod negotiate;
pub(crate) mod query;
pub(crate) mod respond;
pub(crate) mod status;
pub(crate) mod table;
