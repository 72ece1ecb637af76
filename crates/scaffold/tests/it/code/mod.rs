//! The code of projects: what commands write, what they refuse, and that they can be taken back.

mod edited;
mod golden;
mod input;
mod layout;
mod repeated;
pub(crate) mod test_project;
mod upgrade;
