//! Patches: what upstream's libraries make of them, and what holds for all of them.

mod patch_properties;
mod patches;
mod workload;
