//! How a test fails: with one text, and where in the test it did.

use std::panic::Location;

use crate::Error;

/// The place in a test.
pub(crate) type Place = &'static Location<'static>;

/// Ends the test. The text is all that is printed: where this library was at is of no use to anybody.
pub(crate) fn fail(at: Place, text: &str) -> ! {
    let text = format!("{text}\n  at {}:{}:{}", at.file(), at.line(), at.column());
    eprintln!("\n{text}");
    std::panic::resume_unwind(Box::new(text))
}

/// What a test gets of something that may fail.
pub(crate) async fn or_fail<T>(at: Place, work: impl Future<Output = Result<T, Error>>) -> T {
    match work.await {
        Ok(value) => value,
        Err(error) => fail(at, &error.text()),
    }
}
