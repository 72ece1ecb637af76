//! Crates that a user has not added.

extern crate k8s_openapi;
extern crate kube;
extern crate schemars;
extern crate serde;
extern crate serde_json;
