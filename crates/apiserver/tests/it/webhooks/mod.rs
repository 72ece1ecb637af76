//! Admission webhooks as clients see them (A1–A12, A15): who is asked, in which order, what answers do, and what happens
//! when webhooks misbehave. Words are those of the real server.

mod calling_back;
mod certificates;
mod hostile;
mod matching;
mod mutating;
mod pods;
mod support;
mod time;
mod validating;
