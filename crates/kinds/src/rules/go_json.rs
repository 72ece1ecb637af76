//! Whether bytes are a JSON object, refused in the words of Go's encoding/json.

use kubewright_apimachinery::go::json::quote_byte;

const MAX_DEPTH: usize = 10_000;

/// Why the bytes are not a JSON object (or null), if they are not.
pub(crate) fn check_object(bytes: &[u8]) -> Result<(), String> {
    Scanner { bytes, at: 0 }.document()?;
    let kind = match bytes.iter().find(|byte| !is_space(**byte)) {
        Some(b'"') => "string",
        Some(b'[') => "array",
        Some(b't' | b'f') => "bool",
        Some(b'-' | b'0'..=b'9') => "number",
        _ => return Ok(()),
    };
    Err(format!(
        "json: cannot unmarshal {kind} into Go value of type map[string]interface {{}}"
    ))
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n')
}

struct Scanner<'a> {
    bytes: &'a [u8],
    at: usize,
}

type Scanned = Result<(), String>;

/// What may come next inside the innermost object or array.
#[derive(Clone, Copy, PartialEq)]
enum Expect {
    Value,
    /// A value, or the end of an array that has just begun.
    ValueOrEnd,
    /// A key, or the end of an object that has just begun.
    KeyOrEnd,
    Key,
    /// A comma or the end.
    Next,
}

impl Scanner<'_> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn skip_space(&mut self) {
        while self.peek().is_some_and(is_space) {
            self.at += 1;
        }
    }

    /// The refusal of the next byte; the end of input has words of its own.
    fn refuse(&self, context: &str) -> Scanned {
        Err(match self.peek() {
            None => "unexpected end of JSON input".to_owned(),
            Some(byte) => format!("invalid character {} {context}", quote_byte(byte)),
        })
    }

    fn document(mut self) -> Scanned {
        let mut open: Vec<u8> = Vec::new();
        let mut expect = Expect::Value;
        loop {
            self.skip_space();
            let next = self.peek();
            match expect {
                Expect::Next => {
                    let Some(container) = open.last() else { break };
                    let (end, words) = match container {
                        b'{' => (b'}', "after object key:value pair"),
                        _ => (b']', "after array element"),
                    };
                    match next {
                        Some(b',') => expect = if *container == b'{' { Expect::Key } else { Expect::Value },
                        Some(byte) if byte == end => {
                            open.pop();
                        }
                        _ => return self.refuse(words),
                    }
                    self.at += 1;
                }
                Expect::KeyOrEnd | Expect::Key => match next {
                    Some(b'}') if expect == Expect::KeyOrEnd => {
                        open.pop();
                        self.at += 1;
                        expect = Expect::Next;
                    }
                    Some(b'"') => {
                        self.string()?;
                        self.skip_space();
                        if self.peek() != Some(b':') {
                            return self.refuse("after object key");
                        }
                        self.at += 1;
                        expect = Expect::Value;
                    }
                    _ => return self.refuse("looking for beginning of object key string"),
                },
                Expect::ValueOrEnd if next == Some(b']') => {
                    open.pop();
                    self.at += 1;
                    expect = Expect::Next;
                }
                Expect::Value | Expect::ValueOrEnd => {
                    if let Some(bracket @ (b'{' | b'[')) = next {
                        open.push(bracket);
                        if open.len() > MAX_DEPTH {
                            return Err("exceeded max depth".to_owned());
                        }
                        self.at += 1;
                        expect = if bracket == b'{' {
                            Expect::KeyOrEnd
                        } else {
                            Expect::ValueOrEnd
                        };
                    } else {
                        self.scalar()?;
                        expect = Expect::Next;
                    }
                }
            }
        }
        if self.peek().is_some() {
            self.refuse("after top-level value")
        } else {
            Ok(())
        }
    }

    fn scalar(&mut self) -> Scanned {
        match self.peek() {
            Some(b'"') => self.string(),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.literal("true"),
            Some(b'f') => self.literal("false"),
            Some(b'n') => self.literal("null"),
            _ => self.refuse("looking for beginning of value"),
        }
    }

    fn literal(&mut self, word: &str) -> Scanned {
        for expected in word.bytes() {
            if self.peek() != Some(expected) {
                return self.refuse(&format!("in literal {word} (expecting {})", quote_byte(expected)));
            }
            self.at += 1;
        }
        Ok(())
    }

    fn string(&mut self) -> Scanned {
        self.at += 1;
        loop {
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(());
                }
                Some(b'\\') => {
                    self.at += 1;
                    self.escape()?;
                }
                Some(byte) if byte >= 0x20 => self.at += 1,
                _ => return self.refuse("in string literal"),
            }
        }
    }

    fn escape(&mut self) -> Scanned {
        match self.peek() {
            Some(b'b' | b'f' | b'n' | b'r' | b't' | b'\\' | b'/' | b'"') => self.at += 1,
            Some(b'u') => {
                self.at += 1;
                for _ in 0..4 {
                    if !self.peek().is_some_and(|byte| byte.is_ascii_hexdigit()) {
                        return self.refuse("in \\u hexadecimal character escape");
                    }
                    self.at += 1;
                }
            }
            _ => return self.refuse("in string escape code"),
        }
        Ok(())
    }

    fn number(&mut self) -> Scanned {
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        match self.peek() {
            Some(b'0') => self.at += 1,
            Some(b'1'..=b'9') => self.digits(),
            _ => return self.refuse("in numeric literal"),
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            if !self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
                return self.refuse("after decimal point in numeric literal");
            }
            self.digits();
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            if !self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
                return self.refuse("in exponent of numeric literal");
            }
            self.digits();
        }
        Ok(())
    }

    fn digits(&mut self) {
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> String {
        check_object(text.as_bytes()).err().unwrap_or_default()
    }

    #[test]
    fn objects_and_null_are_fine() {
        for text in [
            "{}",
            " { \"a\" : [1, -2.5e+3, true, null, \"\\u00e4\\n\"], \"b\": {} } ",
            "null",
        ] {
            assert_eq!(words(text), "", "{text}");
        }
    }

    #[test]
    fn other_text_is_refused_in_gos_words() {
        for (text, expected) in [
            ("", "unexpected end of JSON input"),
            ("{", "unexpected end of JSON input"),
            ("bad", "invalid character 'b' looking for beginning of value"),
            ("{a", "invalid character 'a' looking for beginning of object key string"),
            ("{\"a\",", "invalid character ',' after object key"),
            ("{\"a\":1]", "invalid character ']' after object key:value pair"),
            ("[1 2", "invalid character '2' after array element"),
            ("{} x", "invalid character 'x' after top-level value"),
            ("\"\n\"", "invalid character '\\n' in string literal"),
            ("trux", "invalid character 'x' in literal true (expecting 'e')"),
            (
                "\"a\"",
                "json: cannot unmarshal string into Go value of type map[string]interface {}",
            ),
            (
                "[]",
                "json: cannot unmarshal array into Go value of type map[string]interface {}",
            ),
            (
                "12",
                "json: cannot unmarshal number into Go value of type map[string]interface {}",
            ),
            (
                "true",
                "json: cannot unmarshal bool into Go value of type map[string]interface {}",
            ),
        ] {
            assert_eq!(words(text), expected, "{text}");
        }
    }
}
