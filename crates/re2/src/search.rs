//! Runs a program over characters: all its ways at once, character by character, so that the work is at most the length of the text times
//! the size of the program, whatever both are.

use std::ops::Range;

use regex_syntax::hir::Look;

use crate::program::{Address, Instruction};

/// What a search is to find.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// Whether there is a match.
    Any,
    /// The match that begins first, and of those the one that the pattern prefers.
    Leftmost,
}

/// Searches from `from` on. `anchored` says that a match can begin at the beginning of the text only.
pub(crate) fn search(
    program: &[Instruction],
    anchored: bool,
    text: &str,
    from: usize,
    wanted: Wanted,
) -> Option<Range<usize>> {
    let mut now = Ways::new(program.len());
    let mut then = Ways::new(program.len());
    let mut stack = Vec::new();
    let mut found = None;
    let mut at = from;
    let mut rest = text.get(from..)?.chars();
    loop {
        if found.is_none() && (!anchored || at == 0) {
            let start = (program.len() - 1) as Address;
            now.follow(program, &mut stack, (start, at), Position { text, at });
        }
        if now.dense.is_empty() {
            // Where a match can begin later, one was begun above.
            return found;
        }
        let c = rest.next();
        let behind = at + c.map_or(0, char::len_utf8);
        for way in 0..now.dense.len() {
            let (address, start) = now.dense[way];
            let next = match &program[address as usize] {
                Instruction::Match => {
                    found = Some(start..at);
                    if wanted == Wanted::Any {
                        return found;
                    }
                    // The ways behind it are those that the pattern likes less.
                    break;
                }
                Instruction::Character(one, next) if c == Some(*one) => *next,
                Instruction::Class(class, next) if c.is_some_and(|c| class.contains(c)) => *next,
                _ => continue,
            };
            then.follow(program, &mut stack, (next, start), Position { text, at: behind });
        }
        if c.is_none() {
            return found;
        }
        at = behind;
        now.clear();
        std::mem::swap(&mut now, &mut then);
    }
}

/// The instructions that the program may be at, in the order of preference, each with the place where its match began.
struct Ways {
    dense: Vec<(Address, usize)>,
    /// Where in `dense` an instruction stands, if it stands there.
    sparse: Box<[u32]>,
}

impl Ways {
    fn new(size: usize) -> Ways {
        Ways {
            dense: Vec::new(),
            sparse: vec![0; size].into(),
        }
    }

    fn clear(&mut self) {
        self.dense.clear();
    }

    /// Whether the instruction was not there before.
    fn insert(&mut self, address: Address, start: usize) -> bool {
        let place = self.sparse[address as usize] as usize;
        if self.dense.get(place).is_some_and(|(known, _)| *known == address) {
            return false;
        }
        self.sparse[address as usize] = self.dense.len() as u32;
        self.dense.push((address, start));
        true
    }

    /// Adds an instruction, and all that it leads to without consuming a character.
    fn follow(
        &mut self,
        program: &[Instruction],
        stack: &mut Vec<Address>,
        (address, start): (Address, usize),
        position: Position<'_>,
    ) {
        stack.push(address);
        while let Some(address) = stack.pop() {
            if !self.insert(address, start) {
                continue;
            }
            match &program[address as usize] {
                Instruction::Split(first, second) => stack.extend([*second, *first]),
                Instruction::Look(look, next) if position.is(*look) => stack.push(*next),
                _ => {}
            }
        }
    }
}

#[derive(Clone, Copy)]
struct Position<'t> {
    text: &'t str,
    at: usize,
}

impl Position<'_> {
    fn is(self, look: Look) -> bool {
        let bytes = self.text.as_bytes();
        let before = self.at.checked_sub(1).map(|at| bytes[at]);
        let behind = bytes.get(self.at).copied();
        let is_word = |byte: Option<u8>| byte.is_some_and(|byte| byte == b'_' || byte.is_ascii_alphanumeric());
        match look {
            Look::Start => before.is_none(),
            Look::End => behind.is_none(),
            Look::StartLF => before.is_none_or(|byte| byte == b'\n'),
            Look::EndLF => behind.is_none_or(|byte| byte == b'\n'),
            Look::WordAscii => is_word(before) != is_word(behind),
            Look::WordAsciiNegate => is_word(before) == is_word(behind),
            // Go has no others, so no translation has any.
            _ => false,
        }
    }
}
