//! What operators join: names, calls, literals, lists, maps and messages.

use crate::ast::{Entry, Expr, ExprKind, Literal};
use crate::lexer::TokenKind;
use crate::names::is_keyword;
use crate::unescape;

use super::{ParseFailure, Parsed, Parser, double_literal, int_literal, uint_literal};

impl Parser<'_> {
    pub(super) fn primary(&mut self) -> Parsed<Expr> {
        match self.peek() {
            TokenKind::Dot | TokenKind::Ident => self.name(),
            TokenKind::LParen => {
                self.advance();
                let expr = self.expr()?;
                self.expect(TokenKind::RParen)?;
                Ok(expr)
            }
            TokenKind::LBracket => self.list(),
            TokenKind::LBrace => {
                let open = self.advance();
                let id = self.id_at(open.start);
                let entries = self.entries(false)?;
                let parts = self.depth_of(entries.iter().flat_map(|entry| [&entry.key, &entry.value]));
                self.note_depth(id, 0, parts);
                Ok(Expr {
                    id,
                    kind: ExprKind::Map(entries),
                })
            }
            _ => self.literal(),
        }
    }

    fn name(&mut self) -> Parsed<Expr> {
        let dot = self.eat(TokenKind::Dot);
        let first = self.expect(TokenKind::Ident)?;
        let start = dot.map_or(first.start, |dot| dot.start);
        let mut name = if dot.is_some() { ".".to_owned() } else { String::new() };
        if self.is_message() {
            name.push_str(&self.text(first));
            while self.eat(TokenKind::Dot).is_some() {
                let part = self.expect(TokenKind::Ident)?;
                name.push('.');
                name.push_str(&self.text(part));
            }
            let open = self.expect(TokenKind::LBrace)?;
            let id = self.id_at(open.start);
            return Ok(Expr {
                id,
                kind: ExprKind::Struct {
                    name,
                    fields: self.entries(true)?,
                },
            });
        }
        let word = self.text(first);
        let reserved = is_keyword(&word);
        if reserved {
            self.report(start, format!("reserved identifier: {word}"));
        }
        name.push_str(&word);
        if let Some(open) = self.eat(TokenKind::LParen) {
            let id = self.id_at(open.start);
            let args = self.arguments()?;
            if reserved {
                return Ok(self.placeholder(start));
            }
            let parts = self.depth_of(&args);
            let call = self.call_or_macro(id, name, None, args);
            self.note_depth(call.id, 0, parts);
            return Ok(call);
        }
        let id = self.id_at(first.start);
        Ok(Expr {
            id,
            kind: ExprKind::Ident(name),
        })
    }

    /// Whether `a.b.c {` follows the name just read.
    fn is_message(&self) -> bool {
        let mut ahead = 0;
        while self.peek_at(ahead) == TokenKind::Dot && self.peek_at(ahead + 1) == TokenKind::Ident {
            ahead += 2;
        }
        self.peek_at(ahead) == TokenKind::LBrace
    }

    fn list(&mut self) -> Parsed<Expr> {
        let open = self.advance();
        let id = self.id_at(open.start);
        let (mut elements, mut optionals) = (Vec::new(), Vec::new());
        // `[,]` is an empty list.
        if self.peek() == TokenKind::Comma && self.peek_at(1) == TokenKind::RBracket {
            self.advance();
        }
        while self.peek() != TokenKind::RBracket {
            let question = self.eat(TokenKind::Question);
            elements.push(self.expr()?);
            if let Some(question) = question {
                if !self.options.optional_syntax {
                    self.report(question.start, "unsupported syntax '?'");
                }
                optionals.push(elements.len() - 1);
            }
            if self.eat(TokenKind::Comma).is_none() {
                break;
            }
        }
        self.expect(TokenKind::RBracket)?;
        let parts = self.depth_of(&elements);
        self.note_depth(id, 0, parts);
        Ok(Expr {
            id,
            kind: ExprKind::List { elements, optionals },
        })
    }

    fn entries(&mut self, message: bool) -> Parsed<Vec<Entry>> {
        let mut entries = Vec::new();
        if self.peek() == TokenKind::Comma && self.peek_at(1) == TokenKind::RBrace {
            self.advance();
        }
        while self.peek() != TokenKind::RBrace {
            let question = self.eat(TokenKind::Question);
            if let Some(question) = question
                && !self.options.optional_syntax
            {
                self.report(question.start, "unsupported syntax '?'");
            }
            let key = if message {
                Err(self.message_field()?)
            } else {
                Ok(self.expr()?)
            };
            let colon = self.expect(TokenKind::Colon)?;
            let id = self.id_at(colon.start);
            let key = match key {
                Ok(key) => key,
                Err((offset, name)) => {
                    let id = self.id_at(offset);
                    Expr {
                        id,
                        kind: ExprKind::Literal(Literal::String(name)),
                    }
                }
            };
            let value = self.expr()?;
            entries.push(Entry {
                id,
                key,
                value,
                optional: question.is_some(),
            });
            if self.eat(TokenKind::Comma).is_none() {
                break;
            }
        }
        self.expect(TokenKind::RBrace)?;
        Ok(entries)
    }

    fn message_field(&mut self) -> Parsed<(usize, String)> {
        if !matches!(self.peek(), TokenKind::Ident | TokenKind::EscIdent) {
            return Err(ParseFailure::Syntax);
        }
        let token = self.advance();
        Ok((token.start, self.field_name(token)))
    }

    fn literal(&mut self) -> Parsed<Expr> {
        let start = self.tokens[self.at].start;
        let sign = self.eat(TokenKind::Minus).is_some();
        let token = self.advance();
        let text = self.text(token);
        let parsed = match token.kind {
            TokenKind::Int => int_literal(&text, sign)
                .map(Literal::Int)
                .ok_or("invalid int literal".to_owned()),
            TokenKind::Float => double_literal(&text, sign)
                .map(Literal::Double)
                .ok_or("invalid double literal".to_owned()),
            _ if sign => return Err(ParseFailure::Syntax),
            TokenKind::Uint => uint_literal(&text)
                .map(Literal::Uint)
                .ok_or("invalid uint literal".to_owned()),
            TokenKind::String => unescape::string(&text).map(Literal::String),
            TokenKind::Bytes => unescape::bytes(&text[1..]).map(Literal::Bytes),
            TokenKind::True => Ok(Literal::Bool(true)),
            TokenKind::False => Ok(Literal::Bool(false)),
            TokenKind::Null => Ok(Literal::Null),
            _ => return Err(ParseFailure::Syntax),
        };
        match parsed {
            Ok(literal) => {
                let id = self.id_at(start);
                Ok(Expr {
                    id,
                    kind: ExprKind::Literal(literal),
                })
            }
            Err(message) => {
                self.report(start, message);
                Ok(self.placeholder(start))
            }
        }
    }
}
