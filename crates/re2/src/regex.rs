//! A compiled pattern, and which of two ways runs it.

use std::ops::Range;
use std::sync::OnceLock;

use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Hir, Look};

use crate::program::{self, Instruction};
use crate::search::{self, Wanted};
use crate::translate::{self, PatternError};

/// How deep a compiled expression may nest: the parser uses some kilobytes of the caller's stack for each level.
const MAX_NESTING: u32 = 250;
/// The largest automaton over bytes, in states, that is worth its compilation: some milliseconds, and less than a megabyte.
const MAX_BYTE_STATES: u64 = 10_000;
/// What the states that a search remembers may take, for each of the threads that search at the same time.
const DFA_BYTES: usize = 512 * 1024;
/// What an instruction of a program over characters takes, with the lists of a search.
const INSTRUCTION_BYTES: u64 = 64;

/// A pattern that can be searched for. It costs no more than its text until it is used for the first time.
///
/// An ordinary pattern is run by the `regex` crate, whose automaton over bytes is fast to run, and slow to compile where a pattern
/// counts large classes. Such a pattern is run as Go does it, by a program over characters ([`Regex::steps`]).
#[derive(Debug)]
pub struct Regex {
    /// In the syntax of the `regex` crate.
    translated: Box<str>,
    way: Way,
    compiled: OnceLock<Box<Compiled>>,
}

#[derive(Clone, Copy, Debug)]
enum Way {
    Bytes,
    /// With this number of instructions.
    Characters(usize),
}

#[derive(Debug)]
enum Compiled {
    Bytes(regex::Regex),
    Characters {
        instructions: Box<[Instruction]>,
        /// Whether a match can begin at the beginning of the text only.
        anchored: bool,
    },
}

impl Regex {
    pub(crate) fn new(pattern: &str, memory: usize) -> Result<Regex, String> {
        let translated = translate::translate(pattern).map_err(PatternError::message)?;
        let too_large = || PatternError::too_large(pattern).message();
        let hir = parse(&translated).ok_or_else(too_large)?;
        let size = program::size(&hir).saturating_add(2);
        if size.saturating_mul(INSTRUCTION_BYTES) > memory as u64 {
            return Err(too_large());
        }
        let way = if program::byte_states(&hir) <= MAX_BYTE_STATES {
            Way::Bytes
        } else {
            Way::Characters(size as usize)
        };
        Ok(Regex {
            translated: translated.into(),
            way,
            compiled: OnceLock::new(),
        })
    }

    /// At most how many steps a search takes for each character of a text.
    pub fn steps(&self) -> usize {
        match self.way {
            Way::Bytes => 1,
            Way::Characters(size) => size,
        }
    }

    /// Whether the text contains a match.
    pub fn is_match(&self, text: &str) -> bool {
        match self.compiled() {
            Compiled::Bytes(regex) => regex.is_match(text),
            Compiled::Characters { instructions, anchored } => {
                search::search(instructions, *anchored, text, 0, Wanted::Any).is_some()
            }
        }
    }

    /// The first match.
    pub fn find<'t>(&self, text: &'t str) -> Option<&'t str> {
        self.find_from(text, 0).map(|found| &text[found])
    }

    /// All matches, from the first on, none of which overlaps another. An empty match does not stand right behind another one.
    pub fn find_iter<'r, 't: 'r>(&'r self, text: &'t str) -> impl Iterator<Item = &'t str> + use<'r, 't> {
        let (mut from, mut last_end) = (0, None);
        std::iter::from_fn(move || {
            loop {
                let found = self.find_from(text, from)?;
                let is_behind_another = found.is_empty() && last_end == Some(found.end);
                from = found.end;
                if found.is_empty() {
                    // One past the end where the text ends here: nothing is found from there.
                    from += text[found.end..].chars().next().map_or(1, char::len_utf8);
                }
                last_end = Some(found.end);
                if !is_behind_another {
                    return Some(&text[found]);
                }
            }
        })
    }

    fn find_from(&self, text: &str, from: usize) -> Option<Range<usize>> {
        if from > text.len() {
            return None;
        }
        match self.compiled() {
            Compiled::Bytes(regex) => regex.find_at(text, from).map(|found| found.range()),
            Compiled::Characters { instructions, anchored } => {
                search::search(instructions, *anchored, text, from, Wanted::Leftmost)
            }
        }
    }

    fn compiled(&self) -> &Compiled {
        self.compiled.get_or_init(|| {
            let mut builder = regex::RegexBuilder::new(&self.translated);
            builder.nest_limit(MAX_NESTING).dfa_size_limit(DFA_BYTES);
            if let Way::Bytes = self.way
                && let Ok(regex) = builder.build()
            {
                return Box::new(Compiled::Bytes(regex));
            }
            // It was parsed before, with the same limits.
            let hir = parse(&self.translated).unwrap_or_else(Hir::fail);
            Box::new(Compiled::Characters {
                instructions: program::compile(&hir),
                anchored: hir.properties().look_set_prefix().contains(Look::Start),
            })
        })
    }
}

fn parse(translated: &str) -> Option<Hir> {
    ParserBuilder::new()
        .nest_limit(MAX_NESTING)
        .build()
        .parse(translated)
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The same pattern, run the other way.
    fn over_characters(pattern: &str) -> Regex {
        let mut regex = Regex::new(pattern, 32 << 20).unwrap();
        regex.way = Way::Characters(1);
        regex
    }

    /// Patterns whose preference matters, and texts made of few characters.
    #[test]
    fn both_ways_find_the_same() {
        let patterns = [
            "a",
            "ab|a",
            "a|ab",
            "a*",
            "a*?",
            "a+b",
            "(a|b)*?b",
            "a{2}",
            "a{1,3}",
            "a{1,3}?",
            "a{2,}",
            "a{0,2}b?",
            "(|a)*",
            "(|a)+",
            "(a|)*b",
            "(a*)*",
            "(a*)+?b",
            "^a",
            "a$",
            "^$",
            "(?m)^a",
            "(?m)a$",
            r"\bé",
            r"\ba",
            r"a\B",
            r"\B",
            "[^a]",
            "é+",
            "[a-é]{2}",
            "(?i)B",
            ".",
            "(?s).",
            "..",
            "(ab|a)(b|)",
            "x*",
            "(?U)a+",
            r"\A\z",
            r"\pL{2}",
            "(a{2}){2}",
            "(a{1,2}){1,2}",
            "a{0}",
            "(^|b)a",
        ];
        let letters = ['a', 'b', 'é', '\n'];
        let mut texts = vec![String::new()];
        for length in 0..5 {
            let longest: Vec<String> = texts
                .iter()
                .filter(|text| text.chars().count() == length)
                .cloned()
                .collect();
            for text in longest {
                texts.extend(letters.iter().map(|letter| format!("{text}{letter}")));
            }
        }
        for pattern in patterns {
            let (bytes, characters) = (Regex::new(pattern, 32 << 20).unwrap(), over_characters(pattern));
            let original = regex::Regex::new(&bytes.translated).unwrap();
            for text in &texts {
                assert_eq!(bytes.is_match(text), characters.is_match(text), "{pattern} on {text:?}");
                let expected: Vec<&str> = original.find_iter(text).map(|found| found.as_str()).collect();
                let found: Vec<&str> = characters.find_iter(text).collect();
                assert_eq!(found, expected, "{pattern} on {text:?}");
                let found: Vec<&str> = bytes.find_iter(text).collect();
                assert_eq!(found, expected, "{pattern} on {text:?}");
            }
        }
    }

    #[test]
    fn a_pattern_that_counts_large_classes_runs_over_characters() {
        let pattern = Regex::new(r"(\pL{30}){30}z", 32 << 20).unwrap();
        assert!((900..2000).contains(&pattern.steps()), "{}", pattern.steps());
        let letters = "é".repeat(900);
        assert!(!pattern.is_match(&letters));
        assert!(pattern.is_match(&format!("1{letters}z")));
        assert_eq!(
            Regex::new(r"^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$", 32 << 20)
                .unwrap()
                .steps(),
            1
        );
    }

    #[test]
    fn a_pattern_is_compiled_when_it_is_used() {
        for pattern in ["a+", r"(\pL{30}){30}z"] {
            let regex = Regex::new(pattern, 32 << 20).unwrap();
            assert!(regex.compiled.get().is_none());
            assert!(!regex.is_match("1"));
            assert!(regex.compiled.get().is_some());
        }
    }
}
