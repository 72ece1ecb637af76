//! What users write with the attributes, and what the compiler and an API server say to it.
#![allow(unreachable_pub, reason = "kinds are as users write them")]

mod apply;
mod compile;
mod markers;
mod resource;
