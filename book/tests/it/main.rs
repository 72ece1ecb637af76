//! The book and ARCHITECTURE.md say what is so: their links, YAML, names, messages and graphs are compared with the sources.

mod architecture;
mod chapters;
mod coming_from;
mod dependencies;
mod getting_started;
mod manifests;
mod packages;
mod readme;
mod troubleshooting;
