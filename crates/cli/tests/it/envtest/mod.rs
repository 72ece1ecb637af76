//! `kubewright envtest`, and the programs in its folder, started as Go's envtest starts them. What envtest itself makes of them is in
//! `conformance/envtest`, which needs Go.
#![cfg(unix)]

mod command_lines;
mod control_plane;
mod flags;
mod folder;
mod makefile;
mod recorded;
mod setup;
