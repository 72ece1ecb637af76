//! What touches the machine, in one place: certificates, listening for connections, signals, the clock, randomness, shutdown.
//!
//! This crate knows nothing of Kubernetes objects and depends on no other crate of the workspace.
