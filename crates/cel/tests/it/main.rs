//! The language, and the answers that were recorded from a kube-apiserver and from cel-go.

mod language;
mod objects;
mod printing;
mod properties;
mod recorded;
