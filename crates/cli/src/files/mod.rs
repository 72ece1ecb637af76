//! The files of a project, read one by one and written together: all changes of a command are made, or none.

mod commit;
mod disk;
mod leftovers;

pub(crate) use commit::{CommitError, commit};
pub(crate) use disk::Disk;
