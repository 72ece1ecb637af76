//! Reading descriptions out of the generated `JsonSchema` implementations of a source file.

/// What a source file says of a type and its fields.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Type {
    pub(crate) name: String,
    pub(crate) description: String,
    /// Ordered by name.
    pub(crate) fields: Vec<(String, String)>,
}

/// The types whose schemas a source file has.
pub(crate) fn read(source: &str) -> Vec<Type> {
    let implementations = source.split("impl crate::schemars::JsonSchema for ").skip(1);
    implementations.filter_map(implementation).collect()
}

fn implementation(source: &str) -> Option<Type> {
    let mut tokens = Tokens {
        rest: source.split_once("fn schema_name()")?.1.split_once('{')?.1,
    };
    let Token::Text(name) = tokens.next()? else {
        return None;
    };
    tokens.rest = tokens.rest.split_once("json_schema!(")?.1;
    Some(schema(name, tokens))
}

/// Reads a schema: its own description, and below `properties` those of the fields.
fn schema(name: String, tokens: Tokens<'_>) -> Type {
    let mut found = Type {
        name,
        description: String::new(),
        fields: Vec::new(),
    };
    let mut depth = 0usize;
    let mut properties = false;
    let mut field: Option<String> = None;
    let mut tokens = tokens.peekable();
    while let Some(token) = tokens.next() {
        match token {
            Token::Open => depth += 1,
            Token::Close => {
                depth = depth.saturating_sub(1);
                properties &= depth >= 2;
                if depth == 0 {
                    break;
                }
            }
            Token::Text(text) if depth == 1 => {
                let is_key = tokens.next_if(|next| matches!(next, Token::Assign)).is_some();
                if is_key && text == "description" {
                    found.description = literal(&mut tokens);
                } else if is_key && text == "properties" {
                    properties = true;
                }
            }
            Token::Text(text) if depth == 2 && properties => field = Some(text),
            Token::Text(text) if depth == 3 && properties && text == "description" => {
                if tokens.next_if(|next| matches!(next, Token::Assign)).is_some()
                    && let Some(field) = field.take()
                {
                    found.fields.push((field, literal(&mut tokens)));
                }
            }
            Token::Text(_) | Token::Assign => {}
        }
    }
    found.fields.sort();
    found
}

/// The string literal that comes next.
fn literal(tokens: &mut impl Iterator<Item = Token>) -> String {
    match tokens.next() {
        Some(Token::Text(text)) => text,
        _ => String::new(),
    }
}

/// The parts of a source text that schemas are read from.
enum Token {
    Open,
    Close,
    /// A string literal.
    Text(String),
    /// What stands between a key and its value: `:`, or `.into(),` where the value is inserted.
    Assign,
}

struct Tokens<'s> {
    rest: &'s str,
}

impl Iterator for Tokens<'_> {
    type Item = Token;

    fn next(&mut self) -> Option<Token> {
        loop {
            if let Some(rest) = self.rest.strip_prefix(".into(), ") {
                self.rest = rest;
                return Some(Token::Assign);
            }
            if let Some(rest) = self.rest.strip_prefix("::") {
                self.rest = rest;
                continue;
            }
            let letter = self.rest.chars().next()?;
            self.rest = &self.rest[letter.len_utf8()..];
            match letter {
                '{' => return Some(Token::Open),
                '}' => return Some(Token::Close),
                ':' => return Some(Token::Assign),
                '"' => return Some(Token::Text(self.literal())),
                _ => {}
            }
        }
    }
}

impl Tokens<'_> {
    /// The rest of a string literal whose quote was read.
    fn literal(&mut self) -> String {
        let mut text = String::new();
        let mut letters = self.rest.char_indices();
        while let Some((at, letter)) = letters.next() {
            match letter {
                '"' => {
                    self.rest = &self.rest[at + 1..];
                    return text;
                }
                '\\' => match letters.next() {
                    Some((_, 'n')) => text.push('\n'),
                    Some((_, 't')) => text.push('\t'),
                    Some((_, 'r')) => text.push('\r'),
                    Some((_, 'u')) => {
                        let code: String = letters
                            .by_ref()
                            .skip(1)
                            .map(|(_, letter)| letter)
                            .take_while(|letter| *letter != '}')
                            .collect();
                        text.extend(u32::from_str_radix(&code, 16).ok().and_then(char::from_u32));
                    }
                    Some((_, other)) => text.push(other),
                    None => break,
                },
                other => text.push(other),
            }
        }
        self.rest = "";
        text
    }
}
