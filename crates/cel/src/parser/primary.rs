//! What operators join: names, calls, literals, lists, maps and messages.

use crate::ast::{Entry, Expr, ExprKind, Literal};
use crate::lexer::Kind;
use crate::names::is_keyword;
use crate::unescape;

use super::{Parsed, Parser, Stop, double_literal, int_literal, uint_literal};

impl Parser<'_> {
    pub(super) fn primary(&mut self) -> Parsed<Expr> {
        match self.peek() {
            Kind::Dot | Kind::Ident => self.name(),
            Kind::LParen => {
                self.advance();
                let expr = self.expr()?;
                self.expect(Kind::RParen)?;
                Ok(expr)
            }
            Kind::LBracket => self.list(),
            Kind::LBrace => {
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
        let dot = self.eat(Kind::Dot);
        let first = self.expect(Kind::Ident)?;
        let start = dot.map_or(first.start, |dot| dot.start);
        let mut name = if dot.is_some() { ".".to_owned() } else { String::new() };
        if self.is_message() {
            name.push_str(&self.text(first));
            while self.eat(Kind::Dot).is_some() {
                let part = self.expect(Kind::Ident)?;
                name.push('.');
                name.push_str(&self.text(part));
            }
            let open = self.expect(Kind::LBrace)?;
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
        if let Some(open) = self.eat(Kind::LParen) {
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
        while self.peek_at(ahead) == Kind::Dot && self.peek_at(ahead + 1) == Kind::Ident {
            ahead += 2;
        }
        self.peek_at(ahead) == Kind::LBrace
    }

    fn list(&mut self) -> Parsed<Expr> {
        let open = self.advance();
        let id = self.id_at(open.start);
        let (mut elements, mut optionals) = (Vec::new(), Vec::new());
        // `[,]` is an empty list.
        if self.peek() == Kind::Comma && self.peek_at(1) == Kind::RBracket {
            self.advance();
        }
        while self.peek() != Kind::RBracket {
            let question = self.eat(Kind::Question);
            elements.push(self.expr()?);
            if let Some(question) = question {
                if !self.options.optional_syntax {
                    self.report(question.start, "unsupported syntax '?'");
                }
                optionals.push(elements.len() - 1);
            }
            if self.eat(Kind::Comma).is_none() {
                break;
            }
        }
        self.expect(Kind::RBracket)?;
        let parts = self.depth_of(&elements);
        self.note_depth(id, 0, parts);
        Ok(Expr {
            id,
            kind: ExprKind::List { elements, optionals },
        })
    }

    fn entries(&mut self, message: bool) -> Parsed<Vec<Entry>> {
        let mut entries = Vec::new();
        if self.peek() == Kind::Comma && self.peek_at(1) == Kind::RBrace {
            self.advance();
        }
        while self.peek() != Kind::RBrace {
            let question = self.eat(Kind::Question);
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
            let colon = self.expect(Kind::Colon)?;
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
            if self.eat(Kind::Comma).is_none() {
                break;
            }
        }
        self.expect(Kind::RBrace)?;
        Ok(entries)
    }

    fn message_field(&mut self) -> Parsed<(usize, String)> {
        if !matches!(self.peek(), Kind::Ident | Kind::EscIdent) {
            return Err(Stop::Syntax);
        }
        let token = self.advance();
        Ok((token.start, self.field_name(token)))
    }

    fn literal(&mut self) -> Parsed<Expr> {
        let start = self.tokens[self.at].start;
        let sign = self.eat(Kind::Minus).is_some();
        let token = self.advance();
        let text = self.text(token);
        let parsed = match token.kind {
            Kind::Int => int_literal(&text, sign)
                .map(Literal::Int)
                .ok_or("invalid int literal".to_owned()),
            Kind::Float => double_literal(&text, sign)
                .map(Literal::Double)
                .ok_or("invalid double literal".to_owned()),
            _ if sign => return Err(Stop::Syntax),
            Kind::Uint => uint_literal(&text)
                .map(Literal::Uint)
                .ok_or("invalid uint literal".to_owned()),
            Kind::String => unescape::string(&text).map(Literal::String),
            Kind::Bytes => unescape::bytes(&text[1..]).map(Literal::Bytes),
            Kind::True => Ok(Literal::Bool(true)),
            Kind::False => Ok(Literal::Bool(false)),
            Kind::Null => Ok(Literal::Null),
            _ => return Err(Stop::Syntax),
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
