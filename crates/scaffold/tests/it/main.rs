//! Projects as files: their code, their `config/`, and what commands do to both.

mod code;
mod config;
