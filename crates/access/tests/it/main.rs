//! Who may do what, compared with the decisions of a real kube-apiserver.

mod cover;
mod matrix;
