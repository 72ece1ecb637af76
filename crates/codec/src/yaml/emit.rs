//! The writer: block collections, two spaces deep, lists not indented, lines folded behind column 80.

use kubewright_apimachinery::go::float;
use serde_json::Value;

use super::sort::sorted;
use super::style::{Style, is_break, is_multiline, is_printable, of_string};

/// How long a key may be that stands before its colon; a longer one gets a question mark.
const MAX_SIMPLE_KEY: usize = 128;

/// Behind this column a line is broken at the next space.
const WIDTH: usize = 80;

const INDENT: usize = 2;

/// A value as upstream's YAML answers print it.
pub fn encode(value: &Value) -> String {
    let mut emitter = Emitter {
        out: String::new(),
        column: 0,
        after_space: true,
        only_indentation: true,
    };
    emitter.node(value, None, false);
    emitter.line(0);
    emitter.out
}

struct Emitter {
    out: String,
    column: usize,
    /// What was written last separates: no space is needed before the next token.
    after_space: bool,
    /// Nothing but indentation, dashes and question marks stands on this line.
    only_indentation: bool,
}

impl Emitter {
    /// Writes a node that belongs to a collection at `indent`; `None` for the document itself.
    fn node(&mut self, value: &Value, indent: Option<usize>, is_field: bool) {
        let deeper = indent.map_or(0, |indent| indent + INDENT);
        match value {
            Value::Object(fields) if fields.is_empty() => self.token("{}"),
            Value::Array(items) if items.is_empty() => self.token("[]"),
            Value::Object(fields) => {
                for (name, value) in sorted(fields.iter().map(|(name, value)| (name.as_str(), value)).collect()) {
                    self.field(name, value, deeper);
                }
            }
            Value::Array(items) => {
                // A list stands under the key it belongs to, not to its right.
                let indent = indent.filter(|_| is_field && !self.only_indentation).unwrap_or(deeper);
                for item in items {
                    self.line(indent);
                    self.marker('-');
                    self.node(item, Some(indent), false);
                }
            }
            Value::String(text) => self.string(text, scalar_indent(indent), false),
            Value::Null => self.token("null"),
            Value::Bool(value) => self.token(if *value { "true" } else { "false" }),
            Value::Number(number) => match number.as_f64() {
                Some(float) if number.is_f64() => self.token(&float_text(float)),
                _ => self.token(&number.to_string()),
            },
        }
    }

    fn field(&mut self, name: &str, value: &Value, indent: usize) {
        self.line(indent);
        if name.len() <= MAX_SIMPLE_KEY && !is_multiline(name) {
            self.string(name, scalar_indent(Some(indent)), true);
            self.put(':');
            self.after_space = false;
            self.only_indentation = false;
        } else {
            self.marker('?');
            self.string(name, scalar_indent(Some(indent)), false);
            self.line(indent);
            self.marker(':');
        }
        self.node(value, Some(indent), true);
    }

    /// Starts a line at `indent`, unless there is one.
    fn line(&mut self, indent: usize) {
        let is_at_start =
            self.only_indentation && (self.column < indent || (self.column == indent && self.after_space));
        if !is_at_start {
            self.line_break('\n');
        }
        while self.column < indent {
            self.put(' ');
        }
        self.after_space = true;
        self.only_indentation = true;
    }

    /// Writes a dash, a question mark or a colon that opens something.
    fn marker(&mut self, marker: char) {
        self.separate();
        self.put(marker);
        self.after_space = false;
    }

    fn token(&mut self, text: &str) {
        self.separate();
        text.chars().for_each(|c| self.put(c));
        self.end_of_scalar();
    }

    fn separate(&mut self) {
        if !self.after_space {
            self.put(' ');
        }
    }

    fn end_of_scalar(&mut self) {
        self.after_space = false;
        self.only_indentation = false;
    }

    fn put(&mut self, c: char) {
        self.out.push(c);
        self.column += 1;
    }

    fn line_break(&mut self, c: char) {
        self.out.push(c);
        self.column = 0;
    }

    fn string(&mut self, text: &str, indent: usize, is_simple_key: bool) {
        match of_string(text, is_simple_key) {
            Style::Plain => {
                self.separate();
                self.flowing(text, indent, !is_simple_key, false);
                self.end_of_scalar();
            }
            Style::SingleQuoted => {
                self.separate();
                self.put('\'');
                self.after_space = false;
                self.only_indentation = false;
                self.flowing(text, indent, !is_simple_key, true);
                self.put('\'');
                self.end_of_scalar();
            }
            Style::DoubleQuoted => self.double_quoted(text, indent, !is_simple_key),
            Style::Literal => self.literal(text, indent),
        }
    }

    /// Writes plain or single-quoted text, folding lines where that loses nothing.
    fn flowing(&mut self, text: &str, indent: usize, may_fold: bool, quoted: bool) {
        let mut after_space = false;
        let mut after_break = false;
        let mut characters = text.char_indices().peekable();
        while let Some((at, c)) = characters.next() {
            let next = characters.peek().map(|(_, next)| *next);
            if c == ' ' {
                let is_inside = !quoted || (at > 0 && next.is_some());
                if may_fold && !after_space && self.column > WIDTH && is_inside && next != Some(' ') {
                    self.line(indent);
                } else {
                    self.put(c);
                }
                after_space = true;
                continue;
            }
            if is_break(c) {
                if !after_break && c == '\n' {
                    self.line_break(c);
                }
                self.line_break(c);
                self.only_indentation = true;
                after_break = true;
                continue;
            }
            if after_break {
                self.line(indent);
            }
            if quoted && c == '\'' {
                self.put(c);
            }
            self.put(c);
            self.only_indentation = false;
            after_space = false;
            after_break = false;
        }
    }

    fn double_quoted(&mut self, text: &str, indent: usize, may_fold: bool) {
        self.separate();
        self.put('"');
        self.after_space = false;
        self.only_indentation = false;
        // A text that starts with a byte order mark is escaped as a whole.
        let escape_all = text.starts_with('\u{feff}');
        let mut after_space = false;
        let mut characters = text.char_indices().peekable();
        while let Some((at, c)) = characters.next() {
            let next = characters.peek().map(|(_, next)| *next);
            if escape_all || !is_printable(c) || is_break(c) || c == '"' || c == '\\' {
                escape(c).chars().for_each(|c| self.put(c));
                after_space = false;
            } else if c == ' ' {
                if may_fold && !after_space && self.column > WIDTH && at > 0 && next.is_some() {
                    self.line(indent);
                    if next == Some(' ') {
                        self.put('\\');
                    }
                } else {
                    self.put(c);
                }
                after_space = true;
            } else {
                self.put(c);
                after_space = false;
            }
        }
        self.put('"');
        self.end_of_scalar();
    }

    fn literal(&mut self, text: &str, indent: usize) {
        self.separate();
        self.put('|');
        if text.starts_with(|c| c == ' ' || is_break(c)) {
            self.put('2');
        }
        let mut backwards = text.chars().rev();
        let last_is_break = backwards.next().is_some_and(is_break);
        if !last_is_break {
            self.put('-');
        } else if backwards.next().is_none_or(is_break) {
            self.put('+');
        }
        self.line_break('\n');
        self.after_space = true;
        self.only_indentation = true;
        let mut after_break = true;
        for c in text.chars() {
            if is_break(c) {
                self.line_break(c);
                self.only_indentation = true;
                after_break = true;
                continue;
            }
            if after_break {
                self.line(indent);
            }
            self.put(c);
            self.only_indentation = false;
            after_break = false;
        }
    }
}

/// Where the further lines of a scalar begin.
fn scalar_indent(indent: Option<usize>) -> usize {
    indent.map_or(INDENT, |indent| indent + INDENT)
}

/// A float is JSON before it is YAML: a whole number that prints as an integer is read as one.
fn float_text(number: f64) -> String {
    let mut text = String::new();
    float::write_json(number, &mut text);
    if let Ok(number) = text.parse::<i64>() {
        return number.to_string();
    }
    if let Ok(number) = text.parse::<u64>() {
        return number.to_string();
    }
    float::general(number)
}

fn escape(c: char) -> String {
    let short = match c {
        '\0' => '0',
        '\x07' => 'a',
        '\x08' => 'b',
        '\t' => 't',
        '\n' => 'n',
        '\x0b' => 'v',
        '\x0c' => 'f',
        '\r' => 'r',
        '\x1b' => 'e',
        '"' => '"',
        '\\' => '\\',
        '\u{85}' => 'N',
        '\u{a0}' => '_',
        '\u{2028}' => 'L',
        '\u{2029}' => 'P',
        c => {
            return match u32::from(c) {
                code @ 0..=0xFF => format!("\\x{code:02X}"),
                code @ 0x100..=0xFFFF => format!("\\u{code:04X}"),
                code => format!("\\U{code:08X}"),
            };
        }
    };
    format!("\\{short}")
}
