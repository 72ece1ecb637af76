//! `pattern`: a compiled regular expression, and what is known of one that cannot run.
//! Their syntax is Go's; `kubewright-re2` reads it.

use kubewright_re2::Regex;

/// The memory one pattern may take, so that no definition can exhaust the server.
const SIZE_LIMIT: usize = 32 << 20;

/// A compiled pattern, or why it cannot run.
#[derive(Debug)]
pub(super) struct Pattern {
    /// As the schema spells it.
    pub(super) source: Box<str>,
    pub(super) regex: Result<Regex, String>,
}

/// A pattern that Go runs and this server cannot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatternDefect {
    /// Where it stands in the schema: `properties[spec].properties[name].pattern`.
    pub path: String,
    /// The pattern.
    pub pattern: String,
    /// Why it cannot run.
    pub reason: String,
}

impl Pattern {
    pub(super) fn compile(source: &str) -> Self {
        Pattern {
            source: source.into(),
            regex: kubewright_re2::compile(source, SIZE_LIMIT),
        }
    }
}
