//! What is logged. A program of its own: one of these tests collects every log line of the process, and `tracing` may settle for
//! all threads whether a line is wanted when the first of them reaches it, perhaps one where nobody collects.

// The tests of certificates use more of it.
#[allow(dead_code)]
#[path = "../it/certificates/support.rs"]
mod support;

mod secrecy;
mod traces;
