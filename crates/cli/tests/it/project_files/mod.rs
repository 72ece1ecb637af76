//! `manifests`, `build-installer`, `explore` and `rbac check` in a project whose program is a script that says what an operator would.
#![cfg(unix)]
#![allow(missing_docs)]

mod explore;
mod installer;
mod manifests;
mod project;
mod rbac;
