//! The controllers at work: on the virtual clock, against recordings of the real ones, and with processes of this machine as containers.

mod certificates;
mod collector;
mod process;
mod quota;
mod recorded;
mod workloads;
