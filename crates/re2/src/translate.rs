//! Reads a pattern in Go's syntax and writes it in that of the `regex` crate.
//! Users see the errors, so they are found in Go's order and have Go's messages.

use crate::class;
use crate::lexis::{self, Counts};

/// How often a part may be repeated. The counts of nested repetitions are multiplied.
const MAX_REPEAT: u64 = 1000;

const BAD_CAPTURE: &str = "invalid named capture";
const BAD_ESCAPE: &str = "invalid escape sequence";
const BAD_RANGE: &str = "invalid character class range";
const BAD_REPEAT: &str = "invalid repeat count";

/// An error and the part of the pattern that it quotes.
#[derive(Debug)]
pub(crate) struct PatternError<'p> {
    what: &'static str,
    shown: &'p str,
}

impl<'p> PatternError<'p> {
    /// The error for a valid pattern whose program would take more memory than is allowed.
    pub(crate) fn too_large(pattern: &'p str) -> Self {
        PatternError {
            what: "expression too large",
            shown: pattern,
        }
    }

    /// Go's message.
    pub(crate) fn message(self) -> String {
        format!("error parsing regexp: {}: `{}`", self.what, self.shown)
    }
}

/// Refuses a pattern with an error that quotes `text` up to `after`, which is its end.
fn refuse<'p, T>(what: &'static str, text: &'p str, after: &str) -> Result<T, PatternError<'p>> {
    Err(PatternError {
        what,
        shown: before(text, after),
    })
}

/// The part of `text` before `after`, which is its end.
fn before<'p>(text: &'p str, after: &str) -> &'p str {
    &text[..text.len() - after.len()]
}

/// Translates a pattern.
pub(crate) fn translate(pattern: &str) -> Result<String, PatternError<'_>> {
    let mut translator = Translator {
        pattern,
        groups: vec![Group::default()],
        held: String::new(),
        out: String::with_capacity(pattern.len() + 16),
    };
    translator.run()?;
    Ok(translator.out)
}

/// A group that is being read. The weight of a part is the product of its counted repetitions.
#[derive(Default)]
struct Group {
    /// The weight of the last part; `None` when there is nothing to repeat.
    last: Option<u64>,
    /// The largest weight of the parts before it.
    heaviest: u64,
}

impl Group {
    /// Adds a part with its weight.
    fn push(&mut self, weight: u64) {
        self.heaviest = self.heaviest.max(self.last.unwrap_or(0));
        self.last = Some(weight);
    }

    fn weight(&self) -> u64 {
        self.heaviest.max(self.last.unwrap_or(1)).max(1)
    }
}

struct Translator<'p> {
    pattern: &'p str,
    groups: Vec<Group>,
    /// Flags that were read and not yet written, since a repetition behind them repeats the part before them.
    held: String,
    out: String,
}

/// The text behind the part that was read.
type Rest<'p> = Result<&'p str, PatternError<'p>>;

impl<'p> Translator<'p> {
    fn run(&mut self) -> Result<(), PatternError<'p>> {
        let mut rest = self.pattern;
        // The text from the repetition that ends right here, if one does.
        let mut last_repeat = "";
        while let Some(first) = rest.chars().next() {
            let mut repeat = "";
            if !matches!(first, '(' | '*' | '+' | '?' | '{' | '\\') {
                self.release();
            }
            match first {
                '(' if rest.starts_with("(?") => rest = self.flags(rest)?,
                '(' => {
                    self.open("")?;
                    rest = &rest[1..];
                }
                ')' => {
                    self.close()?;
                    rest = &rest[1..];
                }
                '|' => {
                    let group = self.group();
                    group.heaviest = group.weight();
                    group.last = None;
                    self.out.push('|');
                    rest = &rest[1..];
                }
                '[' => {
                    rest = self.class(rest)?;
                    self.group().push(1);
                }
                '*' | '+' | '?' => {
                    repeat = rest;
                    rest = self.repeat(None, rest, &rest[1..], last_repeat)?;
                }
                '{' if let Some((counts, after)) = lexis::counts(rest) => {
                    repeat = rest;
                    rest = self.repeat(Some(counts), rest, after, last_repeat)?;
                }
                '\\' => rest = self.escape(rest)?,
                other => {
                    self.release();
                    if matches!(other, '^' | '$' | '.') {
                        self.out.push(other);
                    } else {
                        class::push_literal(other, &mut self.out);
                    }
                    self.group().push(1);
                    rest = &rest[other.len_utf8()..];
                }
            }
            last_repeat = repeat;
        }
        if self.groups.len() > 1 {
            return refuse("missing closing )", self.pattern, "");
        }
        Ok(())
    }

    fn group(&mut self) -> &mut Group {
        if self.groups.is_empty() {
            self.groups.push(Group::default());
        }
        let last = self.groups.len() - 1;
        &mut self.groups[last]
    }

    fn release(&mut self) {
        self.out.push_str(&self.held);
        self.held.clear();
    }

    fn open(&mut self, flags: &str) -> Result<(), PatternError<'p>> {
        if self.groups.len() > crate::MAX_HEIGHT {
            return refuse("expression nests too deeply", self.pattern, "");
        }
        self.groups.push(Group::default());
        self.release();
        // No caller reads captures, so every group becomes a non-capturing one.
        self.out.extend(["(?", flags, ":"]);
        Ok(())
    }

    fn close(&mut self) -> Result<(), PatternError<'p>> {
        if self.groups.len() < 2 {
            return refuse("unexpected )", self.pattern, "");
        }
        let weight = self.groups.pop().map_or(1, |group| group.weight());
        self.group().push(weight);
        self.out.push(')');
        Ok(())
    }

    /// Reads `(?P<name>`, `(?<name>`, `(?flags)` or `(?flags:`.
    fn flags(&mut self, text: &'p str) -> Rest<'p> {
        let name_at = if text.len() > 4 && text.starts_with("(?P<") {
            Some(4)
        } else if text.len() > 3 && text.starts_with("(?<") {
            Some(3)
        } else {
            None
        };
        if let Some(start) = name_at {
            let Some(end) = text.find('>') else {
                return refuse(BAD_CAPTURE, text, "");
            };
            let (name, rest) = (text.get(start..end).unwrap_or_default(), &text[end + 1..]);
            if name.is_empty() || !name.chars().all(|c| c == '_' || c.is_ascii_alphanumeric()) {
                return refuse(BAD_CAPTURE, text, rest);
            }
            self.open("")?;
            return Ok(rest);
        }
        let (mut negated, mut saw_flag) = (false, false);
        let mut end = text.len();
        for (index, c) in text.char_indices().skip(2) {
            end = index + c.len_utf8();
            match c {
                'i' | 'm' | 's' | 'U' => saw_flag = true,
                '-' if !negated => (negated, saw_flag) = (true, false),
                ':' | ')' if !negated || saw_flag => {
                    let flags = &text[2..index];
                    if c == ':' {
                        self.open(flags)?;
                    } else if !flags.is_empty() {
                        self.held.extend(["(?", flags, ")"]);
                    }
                    return Ok(&text[end..]);
                }
                _ => break,
            }
        }
        refuse("invalid or unsupported Perl syntax", text, &text[end..])
    }

    fn repeat(&mut self, counts: Option<Counts>, text: &'p str, after: &'p str, last_repeat: &'p str) -> Rest<'p> {
        if let Some(Counts { min, max }) = counts
            && (min.is_none_or(|min| min > MAX_REPEAT)
                || max.is_some_and(|max| max > MAX_REPEAT || min.is_some_and(|min| min > max)))
        {
            return refuse(BAD_REPEAT, text, after);
        }
        let after = after.strip_prefix('?').unwrap_or(after);
        if !last_repeat.is_empty() {
            return refuse("invalid nested repetition operator", last_repeat, after);
        }
        let group = self.group();
        let Some(weight) = group.last else {
            return refuse("missing argument to repetition operator", text, after);
        };
        if let Some(Counts { min: Some(min), max }) = counts {
            let times = max.unwrap_or(min);
            let weight = match (times, max) {
                (0, Some(_)) => 0,
                (times, _) => weight.saturating_mul(times.max(1)),
            };
            if times >= 2 && weight > MAX_REPEAT {
                return refuse(BAD_REPEAT, text, after);
            }
            group.last = Some(weight);
        }
        // These flags decide whether this repetition is greedy, so they are written before it.
        if self.held.contains('U') {
            self.release();
        }
        self.out.push_str(before(text, after));
        self.release();
        Ok(after)
    }

    /// Reads an escape sequence.
    fn escape(&mut self, text: &'p str) -> Rest<'p> {
        if !text.starts_with(r"\Q") {
            self.release();
        }
        let rest = match text.as_bytes().get(1) {
            Some(b'C') => return refuse(BAD_ESCAPE, text, &text[2..]),
            Some(b'Q') => {
                let quoted = &text[2..];
                let (literal, rest) = quoted.split_once("\\E").unwrap_or((quoted, ""));
                if literal.is_empty() {
                    return Ok(rest);
                }
                self.release();
                literal.chars().for_each(|c| class::push_literal(c, &mut self.out));
                rest
            }
            Some(b'A' | b'z') => {
                self.out.push_str(&text[..2]);
                &text[2..]
            }
            // Go's word boundaries know ASCII only.
            Some(b'b' | b'B') => {
                self.out.extend(["(?-u:", &text[..2], ")"]);
                &text[2..]
            }
            _ => {
                if let Some(rest) = self.named_class(text)? {
                    rest
                } else {
                    let (c, rest) = escaped(text)?;
                    class::push_range(c, c, &mut self.out);
                    rest
                }
            }
        };
        self.group().push(1);
        Ok(rest)
    }

    /// Reads a class that an escape names (`\d`, `\pN`, `\P{^Greek}`) and writes it in brackets of its own.
    fn named_class(&mut self, text: &'p str) -> Result<Option<&'p str>, PatternError<'p>> {
        let Some(letter @ (b'd' | b's' | b'w' | b'D' | b'S' | b'W' | b'p' | b'P')) = text.as_bytes().get(1) else {
            return Ok(None);
        };
        let is_upper = letter.is_ascii_uppercase();
        if let Some(class) = class::perl(char::from(letter.to_ascii_lowercase())) {
            self.out.extend([if is_upper { "[^" } else { "[" }, class, "]"]);
            return Ok(Some(&text[2..]));
        }
        let (name, rest) = match text[2..].chars().next() {
            Some('{') => match text[3..].split_once('}') {
                Some(split) => split,
                None => return refuse(BAD_RANGE, text, ""),
            },
            Some(c) => text[2..].split_at(c.len_utf8()),
            None => return refuse(BAD_RANGE, text, ""),
        };
        let (name, is_inverted) = name.strip_prefix('^').map_or((name, false), |name| (name, true));
        match class::unicode(name, is_upper != is_inverted) {
            Some(class) => self.out.push_str(&class),
            None => return refuse(BAD_RANGE, text, rest),
        }
        Ok(Some(rest))
    }

    /// Reads a bracket expression. It consists of named classes, characters and ranges of two characters.
    fn class(&mut self, text: &'p str) -> Rest<'p> {
        let mut rest = &text[1..];
        self.out.push('[');
        if let Some(negated) = rest.strip_prefix('^') {
            self.out.push('^');
            rest = negated;
        }
        let mut first = true;
        while first || !rest.starts_with(']') {
            first = false;
            if let Some((name, after)) = rest.strip_prefix("[:").and_then(|named| named.split_once(":]")) {
                let (plain, bracket) = name.strip_prefix('^').map_or((name, "["), |name| (name, "[^"));
                let Some(class) = class::posix(plain) else {
                    return refuse(BAD_RANGE, rest, after);
                };
                self.out.extend([bracket, class, "]"]);
                rest = after;
                continue;
            }
            if rest.starts_with('\\')
                && let Some(after) = self.named_class(rest)?
            {
                rest = after;
                continue;
            }
            let range = rest;
            let (low, after) = class_character(rest, text)?;
            rest = after;
            let mut high = low;
            if rest.len() >= 2 && rest.starts_with('-') && !rest.starts_with("-]") {
                (high, rest) = class_character(&rest[1..], text)?;
                if high < low {
                    return refuse(BAD_RANGE, range, rest);
                }
            }
            class::push_range(low, high, &mut self.out);
        }
        self.out.push(']');
        Ok(&rest[1..])
    }
}

/// Reads a character of the bracket expression that begins with `class`.
fn class_character<'p>(text: &'p str, class: &'p str) -> Result<(u32, &'p str), PatternError<'p>> {
    match text.chars().next() {
        None => refuse("missing closing ]", class, ""),
        Some('\\') => escaped(text),
        Some(c) => Ok((c as u32, &text[c.len_utf8()..])),
    }
}

fn escaped(text: &str) -> Result<(u32, &str), PatternError<'_>> {
    lexis::escaped(text).or_else(|rest| match text {
        "\\" => refuse("trailing backslash at end of expression", "", ""),
        _ => refuse(BAD_ESCAPE, text, rest),
    })
}
