//! What the tests of this repository share: [`kubectl`], the [`example_program`]s that they start, a [`free_port`] for them, [`skip`],
//! for tests that need something this machine does not have, and the chapters of the [`book`]. Only tests depend on this crate.
//!
//! ```
//! fn a_test_that_drives_kubectl() {
//!     let Some(kubectl) = kubewright_test_support::kubectl() else {
//!         return; // said on stderr, or a failure where `REQUIRE_KUBECTL` is set
//!     };
//!     assert!(kubectl.exists());
//! }
//! # a_test_that_drives_kubectl();
//! ```

pub mod book;
mod kubectl;
mod ports;
mod programs;
mod upstream;

use std::io::Write as _;

pub use kubectl::{REQUIRE_KUBECTL, kubectl};
pub use ports::free_port;
pub use programs::example_program;
pub use upstream::{REQUIRE_UPSTREAM, upstream};

/// Says on stderr that the current test is skipped, and why.
///
/// The line goes past the capture of libtest, which shows what a test prints only if it fails. The caller returns afterwards.
pub fn skip(reason: &str) {
    let thread = std::thread::current();
    let test = thread.name().unwrap_or("a test");
    drop(writeln!(std::io::stderr(), "skipped: {test}: {reason}"));
}
