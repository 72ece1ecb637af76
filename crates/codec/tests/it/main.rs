//! JSON and YAML as Go's API machinery reads and writes them.

mod golden;
mod json;
mod properties;
mod yaml;
