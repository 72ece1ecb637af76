//! `init`, `create`, `delete` and `edit` as a user meets them. That the projects they make build and pass their tests is tested in
//! `tests/scaffolded_projects.rs`.

mod commands;
#[cfg(unix)]
mod doctor;
mod folder;
mod grafana;
mod words;
