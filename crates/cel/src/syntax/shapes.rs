//! What cel-go still understands of a text with syntax errors: enough to say that a macro is used wrongly in it.

use crate::ast::{Expr, ExprKind, Literal};
use crate::lexer::{Token, TokenKind};
use crate::macros::{self, Expansion};
use crate::names::is_keyword;
use crate::parser::{ParseOptions, Parser};
use crate::source::{Issue, Source};

use super::grammar::Rule;

/// A part of a rule: a token by its index, or a finished rule.
pub(super) enum Part {
    Token(usize),
    Rule(Finished),
}

/// A rule that ended.
pub(super) struct Finished {
    rule: Rule,
    shape: Shape,
    /// The expressions of a list of arguments.
    args: Vec<Shape>,
}

/// What an expression is, as far as macros ask, and the code point it is reported at.
#[derive(Clone)]
struct Shape {
    kind: ShapeKind,
    at: usize,
}

#[derive(Clone)]
enum ShapeKind {
    Ident(String),
    Select,
    Literal,
    Collection,
    Object,
    Call,
    /// Nothing that was understood.
    Unknown,
}

const UNKNOWN: Shape = Shape {
    kind: ShapeKind::Unknown,
    at: 0,
};

/// Follows what finished rules mean.
pub(super) struct Shapes<'s> {
    source: &'s Source,
    tokens: &'s [Token],
    options: ParseOptions,
    /// Expands macros to see whether it can; what comes of it is dropped.
    parser: Parser<'s>,
    pub(super) issues: Vec<Issue>,
}

impl<'s> Shapes<'s> {
    pub(super) fn new(source: &'s Source, tokens: &'s [Token], options: ParseOptions) -> Self {
        Self {
            source,
            tokens,
            options,
            parser: Parser::new(source, tokens, options),
            issues: Vec::new(),
        }
    }

    fn kind(&self, part: Option<&Part>) -> Option<TokenKind> {
        match part {
            Some(Part::Token(index)) => self.tokens.get(*index).map(|token| token.kind),
            _ => None,
        }
    }

    fn start(&self, part: Option<&Part>) -> usize {
        match part {
            Some(Part::Token(index)) => self.tokens.get(*index).map_or(0, |token| token.start),
            _ => 0,
        }
    }

    fn text(&self, part: Option<&Part>) -> String {
        match part {
            Some(Part::Token(index)) => {
                let token = self.tokens.get(*index);
                token
                    .map(|token| self.source.slice(token.start, token.end))
                    .unwrap_or_default()
            }
            _ => String::new(),
        }
    }

    /// A rule ended with these parts.
    pub(super) fn finish(&mut self, rule: Rule, parts: &[Part]) -> Finished {
        let inner = parts.iter().find_map(|part| match part {
            Part::Rule(finished) => Some(finished),
            Part::Token(_) => None,
        });
        let mut args = Vec::new();
        let shape = match rule {
            Rule::Expr | Rule::Relation | Rule::Calc | Rule::ConditionalOr | Rule::ConditionalAnd => {
                let operators: Vec<usize> = parts
                    .iter()
                    .filter(|part| matches!(part, Part::Token(_)))
                    .map(|part| self.start(Some(part)))
                    .collect();
                let shown = match rule {
                    // Chains of logic are balanced, others are read from the left.
                    Rule::ConditionalOr | Rule::ConditionalAnd => operators.get(operators.len() / 2),
                    Rule::Expr => operators.first(),
                    _ => operators.last(),
                };
                match shown {
                    Some(at) => call(*at),
                    None => inner.map_or(UNKNOWN, |inner| inner.shape.clone()),
                }
            }
            Rule::Unary => {
                let signs = parts.iter().filter(|part| matches!(part, Part::Token(_))).count();
                if signs % 2 == 1 {
                    call(self.start(parts.first()))
                } else {
                    inner.map_or(UNKNOWN, |inner| inner.shape.clone())
                }
            }
            Rule::Member => self.member(parts),
            Rule::Primary => self.primary(parts),
            Rule::EscapeIdent => {
                if self.kind(parts.first()) == Some(TokenKind::EscIdent) && !self.options.escaped_identifiers {
                    self.say(self.start(parts.first()), "unsupported syntax: '`'".to_owned());
                }
                UNKNOWN
            }
            Rule::Literal => Shape {
                kind: ShapeKind::Literal,
                at: self.start(parts.first()),
            },
            Rule::ExprList => {
                args = parts
                    .iter()
                    .filter_map(|part| match part {
                        Part::Rule(finished) => Some(finished.shape.clone()),
                        Part::Token(_) => None,
                    })
                    .collect();
                UNKNOWN
            }
            _ => UNKNOWN,
        };
        Finished { rule, shape, args }
    }

    fn member(&mut self, parts: &[Part]) -> Shape {
        let mut shape = match parts.first() {
            Some(Part::Rule(primary)) if primary.rule == Rule::Primary => primary.shape.clone(),
            _ => return UNKNOWN,
        };
        let mut at = 1;
        while at < parts.len() {
            let start = self.start(parts.get(at));
            match self.kind(parts.get(at)) {
                Some(TokenKind::Dot) if self.kind(parts.get(at + 2)) == Some(TokenKind::LParen) => {
                    let function = self.text(parts.get(at + 1));
                    let open = self.start(parts.get(at + 2));
                    let args = arguments(parts.get(at + 3));
                    shape = self.called(open, &function, Some(shape), &args);
                    at += 3;
                }
                Some(TokenKind::Dot) => {
                    shape = Shape {
                        kind: ShapeKind::Select,
                        at: start,
                    };
                    // `.?field` is an operator.
                    if self.kind(parts.get(at + 1)) == Some(TokenKind::Question) {
                        shape.kind = ShapeKind::Call;
                    }
                    at += 1;
                }
                Some(TokenKind::LBracket) => {
                    shape = call(start);
                    at += 1;
                }
                _ => at += 1,
            }
        }
        shape
    }

    fn primary(&mut self, parts: &[Part]) -> Shape {
        let leading = usize::from(self.kind(parts.first()) == Some(TokenKind::Dot));
        let start = self.start(parts.get(leading));
        match (self.kind(parts.get(leading)), parts.get(leading)) {
            (Some(TokenKind::Ident), _) => {
                let name = self.text(parts.get(leading));
                let brace = parts
                    .iter()
                    .find(|part| self.kind(Some(part)) == Some(TokenKind::LBrace));
                if let Some(brace) = brace {
                    return Shape {
                        kind: ShapeKind::Object,
                        at: self.start(Some(brace)),
                    };
                }
                if self.kind(parts.get(leading + 1)) == Some(TokenKind::LParen) {
                    let open = self.start(parts.get(leading + 1));
                    if is_keyword(&name) || leading == 1 {
                        return call(open);
                    }
                    return self.called(open, &name, None, &arguments(parts.get(leading + 2)));
                }
                let name = if leading == 1 { format!(".{name}") } else { name };
                Shape {
                    kind: ShapeKind::Ident(name),
                    at: start,
                }
            }
            (Some(TokenKind::LParen), _) => match parts.get(leading + 1) {
                Some(Part::Rule(inner)) => inner.shape.clone(),
                _ => UNKNOWN,
            },
            (Some(TokenKind::LBracket), _) => Shape {
                kind: ShapeKind::Collection,
                at: start,
            },
            (Some(TokenKind::LBrace), _) => Shape {
                kind: ShapeKind::Object,
                at: start,
            },
            (None, Some(Part::Rule(literal))) => literal.shape.clone(),
            _ => UNKNOWN,
        }
    }

    /// A call: if it is a macro, says what is wrong with its arguments.
    fn called(&mut self, open: usize, function: &str, target: Option<Shape>, args: &[Shape]) -> Shape {
        let understood = |shape: &Shape| !matches!(shape.kind, ShapeKind::Unknown);
        if target.iter().chain(args.first()).all(understood) {
            let id = self.parser.id_at(open);
            let target = target.map(|target| self.expr(&target));
            let args = args.iter().map(|arg| self.expr(arg)).collect();
            match macros::expand(&mut self.parser, id, function, target, args) {
                Expansion::Failed { offset, message } => self.say(offset, message),
                // A test for a field counts as a field to the macro around it.
                Expansion::Expanded(expanded) if matches!(expanded.kind, ExprKind::Select { .. }) => {
                    return Shape {
                        kind: ShapeKind::Select,
                        at: open,
                    };
                }
                Expansion::Expanded(_) | Expansion::NotAMacro(..) => {}
            }
        }
        call(open)
    }

    /// A stand-in of the same shape.
    fn expr(&mut self, shape: &Shape) -> Expr {
        let id = self.parser.id_at(shape.at);
        let null = || ExprKind::Literal(Literal::Null);
        let kind = match &shape.kind {
            ShapeKind::Ident(name) => ExprKind::Ident(name.clone()),
            ShapeKind::Select => ExprKind::Select {
                operand: Box::new(Expr { id: 0, kind: null() }),
                field: String::new(),
                test_only: false,
            },
            ShapeKind::Collection => ExprKind::List {
                elements: Vec::new(),
                optionals: Vec::new(),
            },
            ShapeKind::Object => ExprKind::Map(Vec::new()),
            ShapeKind::Call | ShapeKind::Unknown => ExprKind::Call {
                target: None,
                function: String::new(),
                args: Vec::new(),
            },
            ShapeKind::Literal => null(),
        };
        Expr { id, kind }
    }

    fn say(&mut self, offset: usize, message: String) {
        self.issues.push(Issue {
            position: Some(self.source.position(offset)),
            message,
        });
    }
}

fn call(at: usize) -> Shape {
    Shape {
        kind: ShapeKind::Call,
        at,
    }
}

fn arguments(part: Option<&Part>) -> Vec<Shape> {
    match part {
        Some(Part::Rule(list)) if list.rule == Rule::ExprList => list.args.clone(),
        _ => Vec::new(),
    }
}
