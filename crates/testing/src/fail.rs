//! How a test fails: with one text, and where in the test it did.

use std::panic::Location;

use crate::Error;

/// The line of a test that called.
pub(crate) type CallSite = &'static Location<'static>;

/// How the names of threads begin in which a failure is a result, and no failure of the test.
pub(crate) const QUIET_THREAD: &str = "explore: ";

/// Ends the test. The text is all that is printed: a backtrace of this library would not help.
pub(crate) fn fail(at: CallSite, text: &str) -> ! {
    let text = format!("{text}\n  at {}:{}:{}", at.file(), at.line(), at.column());
    let is_result = std::thread::current()
        .name()
        .is_some_and(|name| name.starts_with(QUIET_THREAD));
    if !is_result {
        eprintln!("\n{text}");
    }
    std::panic::resume_unwind(Box::new(text))
}

/// The result of `work`, or the end of the test.
pub(crate) async fn or_fail<T>(at: CallSite, work: impl Future<Output = Result<T, Error>>) -> T {
    match work.await {
        Ok(value) => value,
        Err(error) => fail(at, &error.text()),
    }
}
