//! The text of a selector: `a=b, c!=d, e in (f,g), h notin (i), j, !k, l>1`.

use std::str::FromStr;

use super::{Operator, Requirement, Selector, SelectorError};
use crate::field::FieldError;
use crate::names;

impl FromStr for Selector {
    type Err = SelectorError;

    fn from_str(text: &str) -> Result<Self, SelectorError> {
        let parser = Parser {
            tokens: tokens(text),
            at: 0,
        };
        parser.selector().map_err(SelectorError)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    Word(String),
    /// `in` and `notin`, which are words where a value is expected.
    Keyword(&'static str),
    Symbol(&'static str),
    Unknown(String),
    End,
}

impl Token {
    fn literal(&self) -> &str {
        match self {
            Token::Word(text) | Token::Unknown(text) => text,
            Token::Keyword(text) | Token::Symbol(text) => text,
            Token::End => "",
        }
    }

    /// The token where a key or a value may stand.
    fn is_word(&self) -> bool {
        matches!(self, Token::Word(_) | Token::Keyword(_))
    }
}

const SYMBOLS: [&str; 9] = ["==", "!=", "=", "!", ",", "(", ")", "<", ">"];

fn tokens(text: &str) -> Vec<Token> {
    let is_symbol = |c: char| "=!(),<>".contains(c);
    let is_blank = |c: char| matches!(c, ' ' | '\t' | '\r' | '\n');
    let mut found = Vec::new();
    let mut rest = text.trim_start_matches(is_blank);
    // The scanner upstream ends at a NUL byte.
    while let Some(first) = rest.chars().next().filter(|c| *c != '\0') {
        if is_symbol(first) {
            if let Some(symbol) = SYMBOLS.iter().find(|symbol| rest.starts_with(**symbol)) {
                found.push(Token::Symbol(symbol));
                rest = &rest[symbol.len()..];
            } else {
                found.push(Token::Unknown(format!("error expected: keyword found '{first}'")));
                rest = &rest[first.len_utf8()..];
            }
        } else {
            let end = rest
                .find(|c: char| is_symbol(c) || is_blank(c) || c == '\0')
                .unwrap_or(rest.len());
            found.push(match &rest[..end] {
                "in" => Token::Keyword("in"),
                "notin" => Token::Keyword("notin"),
                word => Token::Word(word.to_owned()),
            });
            rest = &rest[end..];
        }
        rest = rest.trim_start_matches(is_blank);
    }
    found.push(Token::End);
    found
}

struct Parser {
    tokens: Vec<Token>,
    at: usize,
}

impl Parser {
    fn peek(&self) -> &Token {
        self.tokens.get(self.at).unwrap_or(&Token::End)
    }

    fn next(&mut self) -> Token {
        let token = self.peek().clone();
        self.at += 1;
        token
    }

    fn selector(mut self) -> Result<Selector, String> {
        let mut requirements = Vec::new();
        loop {
            match self.peek() {
                Token::End => break,
                token if token.is_word() || *token == Token::Symbol("!") => {
                    let requirement = self
                        .requirement()
                        .map_err(|error| format!("unable to parse requirement: {error}"))?;
                    requirements.push(requirement);
                    match self.next() {
                        Token::End => break,
                        Token::Symbol(",") => {
                            let next = self.peek();
                            if !next.is_word() && *next != Token::Symbol("!") {
                                return Err(format!("found '{}', expected: identifier after ','", next.literal()));
                            }
                        }
                        other => {
                            return Err(format!("found '{}', expected: ',' or 'end of string'", other.literal()));
                        }
                    }
                }
                other => {
                    return Err(format!(
                        "found '{}', expected: !, identifier, or 'end of string'",
                        other.literal()
                    ));
                }
            }
        }
        Ok(requirements.into_iter().collect())
    }

    fn requirement(&mut self) -> Result<Requirement, String> {
        let mut token = self.next();
        let negated = token == Token::Symbol("!");
        if negated {
            token = self.next();
        }
        if !token.is_word() {
            return Err(format!("found '{}', expected: identifier", token.literal()));
        }
        let key = token.literal().to_owned();
        let problems = names::qualified_name(&key);
        if !problems.is_empty() {
            // Upstream has no path here, and prints that.
            return Err(FieldError::invalid("<nil>", key, problems.join("; ")).to_string());
        }
        let (operator, values) = if negated {
            (Operator::DoesNotExist, Vec::new())
        } else if matches!(self.peek(), Token::End | Token::Symbol(",")) {
            (Operator::Exists, Vec::new())
        } else {
            let operator = self.operator()?;
            let values = match operator {
                Operator::In | Operator::NotIn => self.value_set()?,
                _ => vec![self.value()?],
            };
            (operator, values)
        };
        Requirement::new(key, operator, values).map_err(|error| error.to_string())
    }

    fn operator(&mut self) -> Result<Operator, String> {
        Ok(match self.next() {
            Token::Keyword("in") => Operator::In,
            Token::Keyword(_) => Operator::NotIn,
            Token::Symbol("=") => Operator::Equals,
            Token::Symbol("==") => Operator::DoubleEquals,
            Token::Symbol("!=") => Operator::NotEquals,
            Token::Symbol("<") => Operator::LessThan,
            Token::Symbol(">") => Operator::GreaterThan,
            other => {
                let found = other.literal();
                return Err(format!("found '{found}', expected: in, notin, =, ==, !=, gt, lt"));
            }
        })
    }

    fn value(&mut self) -> Result<String, String> {
        if matches!(self.peek(), Token::End | Token::Symbol(",")) {
            return Ok(String::new());
        }
        let token = self.next();
        if token.is_word() {
            Ok(token.literal().to_owned())
        } else {
            Err(format!("found '{}', expected: identifier", token.literal()))
        }
    }

    fn value_set(&mut self) -> Result<Vec<String>, String> {
        let open = self.next();
        if open != Token::Symbol("(") {
            return Err(format!("found '{}' expected: '('", open.literal()));
        }
        let mut values: Vec<String> = Vec::new();
        let first = self.peek().clone();
        if !first.is_word() && !matches!(first, Token::Symbol("," | ")")) {
            return Err(format!("found '{}', expected: ',', ')' or identifier", first.literal()));
        }
        // An empty place between commas or parentheses is the empty value.
        let mut after_value = false;
        loop {
            let token = self.next();
            match &token {
                Token::Symbol(")") => {
                    if !after_value {
                        values.push(String::new());
                    }
                    break;
                }
                Token::Symbol(",") => {
                    if !after_value {
                        values.push(String::new());
                    }
                    after_value = false;
                }
                token if token.is_word() && !after_value => {
                    values.push(token.literal().to_owned());
                    after_value = true;
                }
                other if after_value => {
                    return Err(format!("found '{}', expected: ',' or ')'", other.literal()));
                }
                other => return Err(format!("found '{}', expected: ',', or identifier", other.literal())),
            }
        }
        values.sort();
        values.dedup();
        Ok(values)
    }
}
