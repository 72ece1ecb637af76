//! Regular expressions as Go's `regexp` package has them (RE2's syntax), for the patterns of schemas and expressions.
//! A pattern is read once: what Go refuses is refused with its words, the rest becomes the `regex` crate's syntax.
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
mod translate;

pub use regex::Regex;

/// How deep groups nest in a pattern that Go compiles.
const MAX_HEIGHT: usize = 1000;
/// How deep what is compiled may nest: a level needs some kilobytes of a stack that is the caller's.
const MAX_NESTING: u32 = 250;

/// Why Go does not compile a pattern, in its words.
pub fn mistake(pattern: &str) -> Option<String> {
    translate::translate(pattern).err().map(translate::PatternError::words)
}

/// Compiles a pattern into a program of at most `memory` bytes, so that no pattern can exhaust a server.
/// The error has the words of Go, also where the limit is ours.
pub fn compile(pattern: &str, memory: usize) -> Result<Regex, String> {
    let translated = translate::translate(pattern).map_err(translate::PatternError::words)?;
    regex::RegexBuilder::new(&translated)
        .size_limit(memory)
        .dfa_size_limit(memory / 8)
        .nest_limit(MAX_NESTING)
        .build()
        .map_err(|_| translate::PatternError::too_large(pattern).words())
}
