//! Compares the book and ARCHITECTURE.md with the sources: their links, YAML, names, messages and graphs.

mod admission_plugins;
mod architecture;
mod chapters;
mod coming_from;
mod dependencies;
mod getting_started;
mod imports;
mod manifests;
mod packages;
mod readme;
mod translations;
mod troubleshooting;
