//! A pattern as a program over characters, as Go compiles one: a class is one instruction, whatever it contains. So a pattern that counts
//! large classes, such as `(\pL{30}){30}`, takes a thousand instructions, where an automaton over the bytes of UTF-8 takes half a million
//! states.

use std::collections::HashMap;
use std::sync::Arc;

use regex_syntax::hir::{Class, Hir, HirKind, Look, Repetition};

/// The number of an instruction.
pub(crate) type Address = u32;

#[derive(Clone, Debug)]
pub(crate) enum Instruction {
    /// Consumes this character.
    Character(char, Address),
    /// Consumes a character of the class.
    Class(Arc<CharacterClass>, Address),
    /// Goes on at both, and prefers the first.
    Split(Address, Address),
    /// Goes on where the position is such a one.
    Look(Look, Address),
    /// Ends the program.
    Match,
}

/// The characters of a class.
#[derive(Debug)]
pub(crate) struct CharacterClass {
    ascii: u128,
    /// Sorted, and apart from one another.
    ranges: Box<[(char, char)]>,
}

impl CharacterClass {
    fn new(class: &Class) -> CharacterClass {
        let ranges: Box<[(char, char)]> = match class {
            Class::Unicode(class) => class.iter().map(|range| (range.start(), range.end())).collect(),
            // The translation has no classes of bytes but those of ASCII.
            Class::Bytes(class) => class
                .iter()
                .map(|range| (char::from(range.start()), char::from(range.end())))
                .collect(),
        };
        let mut made = CharacterClass { ascii: 0, ranges };
        let in_ranges = (0..128).filter(|c| made.in_ranges(char::from(*c)));
        made.ascii = in_ranges.fold(0, |bits, c: u8| bits | 1 << c);
        made
    }

    pub(crate) fn contains(&self, c: char) -> bool {
        if c.is_ascii() {
            return (self.ascii >> (c as u32)) & 1 == 1;
        }
        self.in_ranges(c)
    }

    fn in_ranges(&self, c: char) -> bool {
        let after = self.ranges.partition_point(|(first, _)| *first <= c);
        after > 0 && c <= self.ranges[after - 1].1
    }
}

/// How many instructions a pattern takes.
pub(crate) fn size(hir: &Hir) -> u64 {
    match hir.kind() {
        HirKind::Empty => 0,
        HirKind::Literal(literal) => literal.0.len() as u64,
        HirKind::Class(_) | HirKind::Look(_) => 1,
        HirKind::Capture(capture) => size(&capture.sub),
        HirKind::Concat(parts) => parts.iter().map(size).fold(0, u64::saturating_add),
        HirKind::Alternation(parts) => parts
            .iter()
            .map(|part| size(part).saturating_add(1))
            .fold(0, u64::saturating_add),
        HirKind::Repetition(repetition) => {
            // At least one, so that the work is bounded, too, where what is repeated takes no instruction.
            let once = size(&repetition.sub).saturating_add(1);
            once.saturating_mul(times(repetition).max(1).into()).saturating_add(1)
        }
    }
}

/// About how many states an automaton over the bytes of UTF-8 would have.
pub(crate) fn byte_states(hir: &Hir) -> u64 {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => 1,
        HirKind::Literal(literal) => literal.0.len() as u64,
        HirKind::Class(Class::Unicode(class)) => {
            let of_range = |first: char| if first.is_ascii() { 1 } else { 3 };
            class.iter().map(|range| of_range(range.end())).sum::<u64>() + 1
        }
        HirKind::Class(Class::Bytes(class)) => class.iter().count() as u64 + 1,
        HirKind::Capture(capture) => byte_states(&capture.sub),
        HirKind::Concat(parts) | HirKind::Alternation(parts) => {
            parts.iter().map(byte_states).fold(1, u64::saturating_add)
        }
        HirKind::Repetition(repetition) => byte_states(&repetition.sub)
            .saturating_add(1)
            .saturating_mul(times(repetition).max(1).into()),
    }
}

/// How often the part of a repetition is written into the program.
fn times(repetition: &Repetition) -> u32 {
    repetition.max.unwrap_or(repetition.min + 1)
}

/// Writes the program of a pattern. It is written from its end, so that every instruction knows what follows it.
pub(crate) fn compile(hir: &Hir) -> Box<[Instruction]> {
    let mut compiler = Compiler {
        instructions: vec![Instruction::Match],
        classes: HashMap::new(),
    };
    let start = compiler.before(hir, 0);
    // The program begins at its last instruction.
    if start as usize != compiler.instructions.len() - 1 {
        compiler.push(Instruction::Split(start, start));
    }
    compiler.instructions.into()
}

struct Compiler {
    instructions: Vec<Instruction>,
    /// The classes of the pattern, by where they stand in memory: what is repeated refers to one class many times.
    classes: HashMap<*const Class, Arc<CharacterClass>>,
}

impl Compiler {
    fn push(&mut self, instruction: Instruction) -> Address {
        self.instructions.push(instruction);
        // The size of a program is checked before it is compiled.
        (self.instructions.len() - 1) as Address
    }

    /// Writes a part before the instruction at `next`, and returns where it begins.
    fn before(&mut self, hir: &Hir, next: Address) -> Address {
        match hir.kind() {
            HirKind::Empty => next,
            HirKind::Literal(literal) => {
                // A literal is a part of a pattern, which is UTF-8.
                let text = String::from_utf8_lossy(&literal.0);
                text.chars()
                    .rev()
                    .fold(next, |next, c| self.push(Instruction::Character(c, next)))
            }
            HirKind::Class(class) => {
                let known = self.classes.entry(class);
                let class = Arc::clone(known.or_insert_with(|| Arc::new(CharacterClass::new(class))));
                self.push(Instruction::Class(class, next))
            }
            HirKind::Look(look) => self.push(Instruction::Look(*look, next)),
            HirKind::Capture(capture) => self.before(&capture.sub, next),
            HirKind::Concat(parts) => parts.iter().rev().fold(next, |next, part| self.before(part, next)),
            HirKind::Alternation(parts) => {
                let mut parts = parts.iter().rev();
                let Some(last) = parts.next() else { return next };
                let mut begin = self.before(last, next);
                for part in parts {
                    let first = self.before(part, next);
                    begin = self.push(Instruction::Split(first, begin));
                }
                begin
            }
            HirKind::Repetition(repetition) => self.repetition(repetition, next),
        }
    }

    fn repetition(&mut self, repetition: &Repetition, next: Address) -> Address {
        let sub = &repetition.sub;
        let greedy = repetition.greedy;
        let mut begin = if let Some(max) = repetition.max {
            (repetition.min..max).fold(next, |behind, _| {
                let once = self.before(sub, behind);
                self.choice(greedy, once, next)
            })
        } else {
            // Written first, since the part leads back to it.
            let again = self.choice(greedy, next, next);
            let once = self.before(sub, again);
            self.instructions[again as usize] = choice(greedy, once, next);
            // A part that may be empty is `(x+)?` and not `x*`: the first time, its empty form is preferred where it says so.
            match (repetition.min, sub.properties().minimum_len()) {
                (0, Some(0) | None) => self.choice(greedy, once, next),
                (0, _) => again,
                _ => once,
            }
        };
        let repeated = match repetition.max {
            Some(_) => repetition.min,
            None => repetition.min.saturating_sub(1),
        };
        for _ in 0..repeated {
            begin = self.before(sub, begin);
        }
        begin
    }

    fn choice(&mut self, greedy: bool, once: Address, next: Address) -> Address {
        self.push(choice(greedy, once, next))
    }
}

fn choice(greedy: bool, once: Address, next: Address) -> Instruction {
    if greedy {
        Instruction::Split(once, next)
    } else {
        Instruction::Split(next, once)
    }
}
