//! Just enough of protobuf's text format.

/// A message: its fields in order.
#[derive(Debug, Default)]
pub(crate) struct Message(Vec<(String, Field)>);

/// The value of a field.
#[derive(Debug)]
pub(crate) enum Field {
    /// A number, word or quoted text, as bytes.
    Scalar(Vec<u8>),
    /// A nested message.
    Message(Message),
}

impl Message {
    /// All nested messages under a name.
    pub(crate) fn all<'m>(&'m self, name: &'m str) -> impl Iterator<Item = &'m Message> {
        self.0
            .iter()
            .filter(move |(field, _)| field == name)
            .filter_map(|(_, field)| match field {
                Field::Message(message) => Some(message),
                Field::Scalar(_) => None,
            })
    }

    /// The nested message under a name.
    pub(crate) fn one(&self, name: &str) -> Option<&Message> {
        self.0
            .iter()
            .find(|(field, _)| field == name)
            .and_then(|(_, field)| match field {
                Field::Message(message) => Some(message),
                Field::Scalar(_) => None,
            })
    }

    /// The first field.
    pub(crate) fn first(&self) -> Option<(&str, &Field)> {
        self.0.first().map(|(name, field)| (name.as_str(), field))
    }

    /// The scalar under a name as text; empty if there is none.
    pub(crate) fn text(&self, name: &str) -> String {
        self.0
            .iter()
            .find_map(|(field, value)| match value {
                Field::Scalar(bytes) if field == name => Some(String::from_utf8_lossy(bytes).into_owned()),
                _ => None,
            })
            .unwrap_or_default()
    }

    /// The scalar under a name; empty if there is none.
    pub(crate) fn bytes(&self, name: &str) -> &[u8] {
        let found = self.0.iter().find_map(|(field, value)| match value {
            Field::Scalar(bytes) if field == name => Some(bytes.as_slice()),
            _ => None,
        });
        found.unwrap_or_default()
    }

    /// Whether a field of this name occurs anywhere.
    pub(crate) fn mentions(&self, name: &str) -> bool {
        self.0
            .iter()
            .any(|(field, value)| field == name || matches!(value, Field::Message(message) if message.mentions(name)))
    }

    /// Whether a name of a field or a text for which the test holds occurs anywhere.
    pub(crate) fn any_text(&self, test: &impl Fn(&str) -> bool) -> bool {
        self.0.iter().any(|(field, value)| {
            test(field)
                || match value {
                    Field::Scalar(bytes) => test(&String::from_utf8_lossy(bytes)),
                    Field::Message(message) => message.any_text(test),
                }
        })
    }
}

/// Parses a file.
pub(crate) fn parse(text: &str) -> Option<Message> {
    let mut parser = Parser {
        bytes: text.as_bytes(),
        at: 0,
    };
    let message = parser.fields(None)?;
    (parser.at == parser.bytes.len()).then_some(message)
}

struct Parser<'t> {
    bytes: &'t [u8],
    at: usize,
}

impl Parser<'_> {
    fn peek(&mut self) -> Option<u8> {
        loop {
            match self.bytes.get(self.at)? {
                b'#' => {
                    while self.bytes.get(self.at).is_some_and(|byte| *byte != b'\n') {
                        self.at += 1;
                    }
                }
                byte if byte.is_ascii_whitespace() || matches!(byte, b',' | b';') => self.at += 1,
                byte => return Some(*byte),
            }
        }
    }

    fn fields(&mut self, close: Option<u8>) -> Option<Message> {
        let mut message = Message::default();
        loop {
            match self.peek() {
                None if close.is_none() => return Some(message),
                Some(byte) if Some(byte) == close => {
                    self.at += 1;
                    return Some(message);
                }
                None => return None,
                Some(_) => {}
            }
            let name = self.name()?;
            if self.peek()? == b':' {
                self.at += 1;
            }
            if self.peek()? == b'[' {
                self.at += 1;
                while self.peek()? != b']' {
                    let value = self.value()?;
                    message.0.push((name.clone(), value));
                }
                self.at += 1;
            } else {
                let value = self.value()?;
                message.0.push((name, value));
            }
        }
    }

    fn name(&mut self) -> Option<String> {
        let start = self.at;
        if self.bytes.get(self.at)? == &b'[' {
            while self.bytes.get(self.at)? != &b']' {
                self.at += 1;
            }
            self.at += 1;
        } else {
            while self
                .bytes
                .get(self.at)
                .is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
            {
                self.at += 1;
            }
        }
        (self.at > start).then(|| String::from_utf8_lossy(&self.bytes[start..self.at]).into_owned())
    }

    fn value(&mut self) -> Option<Field> {
        match self.peek()? {
            b'{' => {
                self.at += 1;
                self.fields(Some(b'}')).map(Field::Message)
            }
            b'<' => {
                self.at += 1;
                self.fields(Some(b'>')).map(Field::Message)
            }
            b'"' | b'\'' => {
                let mut out = Vec::new();
                while matches!(self.peek(), Some(b'"' | b'\'')) {
                    self.quoted(&mut out)?;
                }
                Some(Field::Scalar(out))
            }
            _ => {
                let start = self.at;
                while self.bytes.get(self.at).is_some_and(|byte| {
                    !byte.is_ascii_whitespace() && !matches!(byte, b'}' | b'>' | b',' | b';' | b']' | b'#')
                }) {
                    self.at += 1;
                }
                (self.at > start).then(|| Field::Scalar(self.bytes[start..self.at].to_vec()))
            }
        }
    }

    fn number(&mut self, radix: u32, most: usize) -> Option<u32> {
        let start = self.at;
        while self.at - start < most
            && self
                .bytes
                .get(self.at)
                .is_some_and(|byte| char::from(*byte).is_digit(radix))
        {
            self.at += 1;
        }
        u32::from_str_radix(std::str::from_utf8(&self.bytes[start..self.at]).ok()?, radix).ok()
    }

    fn quoted(&mut self, out: &mut Vec<u8>) -> Option<()> {
        let quote = self.bytes[self.at];
        self.at += 1;
        loop {
            let byte = *self.bytes.get(self.at)?;
            self.at += 1;
            if byte == quote {
                return Some(());
            }
            if byte != b'\\' {
                out.push(byte);
                continue;
            }
            let escape = *self.bytes.get(self.at)?;
            self.at += 1;
            match escape {
                b'n' => out.push(b'\n'),
                b'r' => out.push(b'\r'),
                b't' => out.push(b'\t'),
                b'a' => out.push(7),
                b'b' => out.push(8),
                b'f' => out.push(12),
                b'v' => out.push(11),
                b'x' => out.push(self.number(16, 2)? as u8),
                b'u' | b'U' => {
                    let code = self.number(16, if escape == b'u' { 4 } else { 8 })?;
                    let mut buffer = [0; 4];
                    out.extend_from_slice(char::from_u32(code)?.encode_utf8(&mut buffer).as_bytes());
                }
                b'0'..=b'7' => {
                    self.at -= 1;
                    out.push(self.number(8, 3)? as u8);
                }
                other => out.push(other),
            }
        }
    }
}
