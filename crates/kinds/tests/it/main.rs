//! The rules of the built-in kinds: recorded answers of a real kube-apiserver, and objects that nobody would send.

mod any_object;
mod recorded;
