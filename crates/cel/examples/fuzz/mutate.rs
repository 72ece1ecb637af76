//! Changes to texts: of characters, of tokens, and of two texts into one.

use crate::random::Random;

const PIECES: &[&str] = &[
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    ".",
    ",",
    ":",
    "?",
    ".?",
    "[?",
    "!",
    "-",
    "+",
    "*",
    "/",
    "%",
    "==",
    "!=",
    "<",
    "&&",
    "||",
    " in ",
    "'",
    "\"",
    "\\",
    "`",
    "@",
    "//",
    "\n",
    "\t",
    "\u{0}",
    "é",
    "😀",
    "0",
    "1u",
    "1.5e308",
    "null",
    "true",
    "self",
    "oldSelf",
    "has(",
    ".all(x, ",
    ".map(x, ",
    ".optMap(x, ",
    "cel.bind(x, ",
    "dyn(",
    "9223372036854775808",
    "b'\\377'",
    "r\"",
    "google.protobuf.Any{}",
];

/// A text a few steps away from one of the corpus.
pub(crate) fn mutate(random: &mut Random, corpus: &[String]) -> String {
    let mut chars: Vec<char> = corpus[random.below(corpus.len())].chars().collect();
    for _ in 0..=random.below(4) {
        let at = random.below(chars.len() + 1);
        let end = (at + 1 + random.below(8)).min(chars.len());
        match random.below(7) {
            0 => drop(chars.drain(at.min(end)..end)),
            1 => {
                let piece = random.pick(PIECES);
                chars.splice(at..at, piece.chars());
            }
            2 => {
                let copy: Vec<char> = chars[at.min(end)..end].to_vec();
                chars.splice(at..at, copy);
            }
            3 => {
                let other: Vec<char> = corpus[random.below(corpus.len())].chars().collect();
                let from = random.below(other.len() + 1);
                chars.truncate(at);
                chars.extend(&other[from..]);
            }
            4 if at < chars.len() => chars[at] = char::from_u32(random.next() as u32 % 0x250).unwrap_or('x'),
            5 if !chars.is_empty() => {
                let (first, second) = (random.below(chars.len()), random.below(chars.len()));
                chars.swap(first, second);
            }
            _ => {
                let other = &corpus[random.below(corpus.len())];
                let wrapped: String = chars.iter().collect();
                let operator = random.pick(&["&&", "||", "==", "+", "in", "?"]);
                chars = format!("({wrapped}) {operator} ({other})").chars().collect();
            }
        }
        chars.truncate(4_000);
    }
    chars.into_iter().collect()
}
