//! The rules many kinds share: names, labels, addresses, and the small readers validators are written with.
//! Every message is upstream's, to the letter.

pub(crate) mod access;
pub(crate) mod annotations;
pub(crate) mod conditions;
pub(crate) mod go_json;
pub(crate) mod labels;
pub mod name_rule;
pub(crate) mod net;
pub(crate) mod ports;
pub(crate) mod printed;
pub(crate) mod resource_names;
pub(crate) mod storage;
