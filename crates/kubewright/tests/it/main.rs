//! What users write with the attributes, and what the compiler and an API server say to it.
#![allow(unreachable_pub, reason = "kinds are as users write them")]

mod apply;
mod compile;
mod convert;
mod crate_path;
mod markers;
mod resource;
