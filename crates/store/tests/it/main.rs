//! The promises of the store, on random histories of writes.

mod common;
mod forking;
mod history;
mod watching;
