//! What users write with the attributes, and what the compiler and an API server say to it.

mod apply;
mod compile;
mod markers;
mod resource;
