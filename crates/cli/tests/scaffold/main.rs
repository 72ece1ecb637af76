//! `init`, `create`, `delete` and `edit` as a user meets them, and the projects they make: those build, and their tests pass.

mod builds;
mod commands;
#[cfg(unix)]
mod doctor;
mod folder;
mod words;
