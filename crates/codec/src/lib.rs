//! JSON and YAML, read and written as Go does.
