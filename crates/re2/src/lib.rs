//! Regular expressions as Go's `regexp` package has them (RE2's syntax), for the patterns of schemas and expressions.
//! A pattern is read once. If Go would refuse it, the error is Go's own message; otherwise it is translated into the syntax of
//! the `regex` crate, and compiled when it is used for the first time.
//!
//! ```
//! let pattern = kubewright_re2::compile(r"^\d{1,3}$", 1 << 20)?;
//! assert!(pattern.is_match("42"));
//! assert!(!pattern.is_match("٤٢"), "Go's digits are ASCII");
//!
//! let mistake = kubewright_re2::mistake("(?=a)");
//! assert_eq!(mistake.as_deref(), Some("error parsing regexp: invalid or unsupported Perl syntax: `(?=`"));
//! # Ok::<(), String>(())
//! ```

mod class;
mod lexis;
mod program;
mod regex;
mod search;
mod translate;

pub use self::regex::Regex;

/// How deep groups may nest in a pattern, as in Go.
const MAX_HEIGHT: usize = 1000;

/// The message with which Go refuses a pattern, or `None` if Go compiles it.
pub fn mistake(pattern: &str) -> Option<String> {
    translate::translate(pattern)
        .err()
        .map(translate::PatternError::message)
}

/// Reads a pattern whose program may take `memory` bytes, so that no pattern can exhaust a server.
/// The error is Go's message. Where only our limit is exceeded, it is Go's message for a pattern that is too large.
pub fn compile(pattern: &str, memory: usize) -> Result<Regex, String> {
    Regex::new(pattern, memory)
}
