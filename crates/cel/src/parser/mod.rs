//! Tokens to a tree, macros expanded on the way.
//! A text with a syntax error is handed to [`crate::syntax`], which words it as cel-go does.

mod literal;
mod operators;

use crate::ast::{Ast, Entry, Expr, ExprKind, Literal, op};
use crate::lexer::{self, Kind, Token};
use crate::macros::{self, Expansion};
use crate::source::{Issue, Issues, Source};
use crate::{syntax, unescape};

pub(crate) use literal::{double_literal, int_literal, uint_literal};

/// The longest expression in code points.
const MAX_CODE_POINTS: usize = 100_000;
/// How deep one rule of the grammar may be nested in itself.
const MAX_NESTING: usize = 250;

/// Which syntax is understood beyond the standard.
#[derive(Debug, Clone, Copy)]
#[expect(clippy::struct_excessive_bools, reason = "each is one independent piece of syntax")]
pub struct ParseOptions {
    /// `a.?b`, `a[?b]`, `[?a]`, `{?a: b}` and the macros of optional values.
    pub optional_syntax: bool,
    /// `cel.bind`
    pub bindings: bool,
    /// `sortBy`
    pub sort_by: bool,
    /// Comprehensions with two variables.
    pub two_variables: bool,
    /// `math.greatest` and `math.least`
    pub math: bool,
    /// Fields written between backticks.
    pub escaped_identifiers: bool,
}

impl ParseOptions {
    /// What Kubernetes 1.36 understands.
    pub const KUBERNETES: Self = Self {
        optional_syntax: true,
        bindings: false,
        sort_by: true,
        two_variables: true,
        math: false,
        escaped_identifiers: false,
    };
    /// Everything this crate understands.
    pub const ALL: Self = Self {
        optional_syntax: true,
        bindings: true,
        sort_by: true,
        two_variables: true,
        math: true,
        escaped_identifiers: true,
    };
}

/// Parses an expression and expands its macros.
pub fn parse(text: &str, options: ParseOptions) -> Result<Ast, Issues> {
    let source = Source::new(text);
    parse_source(&source, options)
}

pub(crate) fn parse_source(source: &Source, options: ParseOptions) -> Result<Ast, Issues> {
    if source.chars.len() > MAX_CODE_POINTS {
        let message = format!(
            "expression code point size exceeds limit: size: {}, limit {MAX_CODE_POINTS}",
            source.chars.len()
        );
        return Err(Issues::new(
            source,
            vec![Issue {
                position: None,
                message,
            }],
        ));
    }
    let (tokens, lex_errors) = lexer::tokens(source);
    let mut parser = Parser {
        source,
        options,
        tokens: &tokens,
        at: 0,
        offsets: vec![0],
        issues: Vec::new(),
        depth: Depth::default(),
        nested: vec![0],
        too_deep: false,
    };
    let parsed = if lex_errors.is_empty() {
        parser.start()
    } else {
        Err(Stop::Syntax)
    };
    let issues = match parsed {
        Ok(root) if parser.issues.is_empty() && !parser.too_deep => {
            return Ok(Ast {
                root,
                offsets: parser.offsets,
            });
        }
        Ok(_) if parser.too_deep => {
            vec![Issue {
                position: None,
                message: "max recursion depth exceeded".to_owned(),
            }]
        }
        Ok(_) => parser.issues,
        Err(stop) => {
            let mut issues = syntax::errors(source, &tokens, &lex_errors);
            if issues.is_empty() {
                issues.push(match stop {
                    Stop::Nesting => Issue {
                        position: None,
                        message: format!("expression recursion limit exceeded: {MAX_NESTING}"),
                    },
                    // Following the grammar took more work than one text is worth.
                    Stop::Syntax => Issue {
                        position: tokens.last().map(|end| source.position(end.start)),
                        message: "Syntax error: expression is too long to say where".to_owned(),
                    },
                });
            }
            issues
        }
    };
    Err(Issues::new(source, issues))
}

/// Why parsing ended early.
enum Stop {
    Syntax,
    Nesting,
}

type Parsed<T> = Result<T, Stop>;

/// How deep the rules of the grammar are nested at the moment.
#[derive(Default, Clone, Copy)]
struct Depth {
    expr: usize,
    relation: usize,
    calc: usize,
    member: usize,
}

pub(crate) struct Parser<'s> {
    source: &'s Source,
    pub(crate) options: ParseOptions,
    tokens: &'s [Token],
    at: usize,
    offsets: Vec<u32>,
    issues: Vec<Issue>,
    depth: Depth,
    /// How many operators, selections and method calls are nested below each node, by id.
    nested: Vec<u16>,
    /// Whether that is more than upstream can visit; the tree is cut there.
    too_deep: bool,
}

pub(crate) const RESERVED: &[&str] = &[
    "as",
    "break",
    "const",
    "continue",
    "else",
    "false",
    "for",
    "function",
    "if",
    "import",
    "in",
    "let",
    "loop",
    "package",
    "namespace",
    "null",
    "return",
    "true",
    "var",
    "void",
    "while",
];

impl Parser<'_> {
    fn peek(&self) -> Kind {
        self.tokens[self.at].kind
    }

    fn peek_at(&self, ahead: usize) -> Kind {
        self.tokens.get(self.at + ahead).map_or(Kind::Eof, |token| token.kind)
    }

    fn advance(&mut self) -> Token {
        let token = self.tokens[self.at];
        if token.kind != Kind::Eof {
            self.at += 1;
        }
        token
    }

    fn eat(&mut self, kind: Kind) -> Option<Token> {
        (self.peek() == kind).then(|| self.advance())
    }

    fn expect(&mut self, kind: Kind) -> Parsed<Token> {
        self.eat(kind).ok_or(Stop::Syntax)
    }

    fn text(&self, token: Token) -> String {
        self.source.slice(token.start, token.end)
    }

    /// A new id whose place is `offset`.
    pub(crate) fn id_at(&mut self, offset: usize) -> u32 {
        self.offsets.push(offset as u32);
        self.nested.push(0);
        (self.offsets.len() - 1) as u32
    }

    /// Notes how deep a node is: `own` more than the deepest of its parts.
    fn note_depth(&mut self, id: u32, own: u16, parts: u16) {
        let depth = own.saturating_add(parts);
        if usize::from(depth) > MAX_NESTING {
            self.too_deep = true;
        }
        if let Some(noted) = self.nested.get_mut(id as usize) {
            *noted = depth;
        }
    }

    fn depth_of<'e>(&self, parts: impl IntoIterator<Item = &'e Expr>) -> u16 {
        let depth = |part: &Expr| self.nested.get(part.id as usize).copied().unwrap_or(0);
        parts.into_iter().map(depth).max().unwrap_or(0)
    }

    pub(crate) fn offset_of(&self, id: u32) -> usize {
        self.offsets.get(id as usize).copied().unwrap_or(0) as usize
    }

    pub(crate) fn report(&mut self, offset: usize, message: impl Into<String>) {
        self.issues.push(Issue {
            position: Some(self.source.position(offset)),
            message: message.into(),
        });
    }

    /// A stand-in for what could not be understood; only used when an issue was reported.
    fn placeholder(&mut self, offset: usize) -> Expr {
        let id = self.id_at(offset);
        Expr {
            id,
            kind: ExprKind::Literal(Literal::Null),
        }
    }

    fn start(&mut self) -> Parsed<Expr> {
        let root = self.expr()?;
        self.expect(Kind::Eof)?;
        Ok(root)
    }

    fn expr(&mut self) -> Parsed<Expr> {
        self.depth.expr += 1;
        if self.depth.expr > MAX_NESTING {
            return Err(Stop::Nesting);
        }
        let condition = self.operators()?;
        let result = match self.eat(Kind::Question) {
            None => condition,
            Some(question) => {
                let id = self.id_at(question.start);
                let then = self.operators()?;
                self.expect(Kind::Colon)?;
                let otherwise = self.expr()?;
                let parts = self.depth_of([&condition, &then, &otherwise]);
                self.note_depth(id, 0, parts);
                call(id, op::CONDITIONAL, vec![condition, then, otherwise])
            }
        };
        self.depth.expr -= 1;
        Ok(result)
    }

    fn check_depth(&self) -> Parsed<()> {
        let Depth {
            expr: _,
            relation,
            calc,
            member,
        } = self.depth;
        if relation.max(calc).max(member) > MAX_NESTING {
            Err(Stop::Nesting)
        } else {
            Ok(())
        }
    }

    fn unary(&mut self) -> Parsed<Expr> {
        let operator = self.peek();
        // One minus before a number belongs to the number; more of them are operators.
        let signed = operator == Kind::Minus && matches!(self.peek_at(1), Kind::Int | Kind::Float);
        if signed || !matches!(operator, Kind::Exclam | Kind::Minus) {
            return self.member();
        }
        let first = self.advance();
        let mut count = 1;
        while self.eat(operator).is_some() {
            count += 1;
        }
        if count % 2 == 0 {
            return self.member();
        }
        let id = self.id_at(first.start);
        let operand = self.member()?;
        let parts = self.depth_of([&operand]);
        self.note_depth(id, 0, parts);
        let name = if operator == Kind::Exclam { op::NOT } else { op::NEGATE };
        Ok(call(id, name, vec![operand]))
    }

    fn member(&mut self) -> Parsed<Expr> {
        let before = self.depth;
        self.depth.member += 1;
        self.check_depth()?;
        let mut expr = self.primary()?;
        loop {
            match self.peek() {
                Kind::Dot => expr = self.selection(expr)?,
                Kind::LBracket => expr = self.index(expr)?,
                _ => break,
            }
            expr = self.cut(expr);
        }
        self.depth = before;
        Ok(expr)
    }

    fn selection(&mut self, operand: Expr) -> Parsed<Expr> {
        let dot = self.advance();
        let optional = self.eat(Kind::Question).is_some();
        let name = match self.peek() {
            Kind::Ident | Kind::EscIdent => self.advance(),
            _ => return Err(Stop::Syntax),
        };
        if !optional && name.kind == Kind::Ident && self.peek() == Kind::LParen {
            let open = self.advance();
            let function = self.text(name);
            let id = self.id_at(open.start);
            let args = self.arguments()?;
            let parts = self.depth_of(args.iter().chain([&operand]));
            let call = self.call_or_macro(id, function, Some(operand), args);
            self.note_depth(call.id, 1, parts);
            return Ok(call);
        }
        let field = self.field_name(name);
        if optional {
            if !self.options.optional_syntax {
                self.report(dot.start, "unsupported syntax '.?'");
            }
            let id = self.id_at(dot.start);
            let field_id = self.id_at(name.start);
            let field = Expr {
                id: field_id,
                kind: ExprKind::Literal(Literal::String(field)),
            };
            let parts = self.depth_of([&operand]);
            self.note_depth(id, 1, parts);
            return Ok(call(id, op::OPT_SELECT, vec![operand, field]));
        }
        let id = self.id_at(dot.start);
        let parts = self.depth_of([&operand]);
        self.note_depth(id, 1, parts);
        Ok(Expr {
            id,
            kind: ExprKind::Select {
                operand: Box::new(operand),
                field,
                test_only: false,
            },
        })
    }

    fn field_name(&mut self, token: Token) -> String {
        let text = self.text(token);
        if token.kind == Kind::Ident {
            return text;
        }
        if !self.options.escaped_identifiers {
            self.report(token.start, "unsupported syntax: '`'");
        }
        text.trim_matches('`').to_owned()
    }

    fn index(&mut self, operand: Expr) -> Parsed<Expr> {
        let open = self.advance();
        let id = self.id_at(open.start);
        let optional = self.eat(Kind::Question).is_some();
        let index = self.expr()?;
        self.expect(Kind::RBracket)?;
        if optional && !self.options.optional_syntax {
            self.report(open.start, "unsupported syntax '[?'");
        }
        let parts = self.depth_of([&operand, &index]);
        self.note_depth(id, 1, parts);
        Ok(call(
            id,
            if optional { op::OPT_INDEX } else { op::INDEX },
            vec![operand, index],
        ))
    }

    fn arguments(&mut self) -> Parsed<Vec<Expr>> {
        let mut args = Vec::new();
        if self.eat(Kind::RParen).is_some() {
            return Ok(args);
        }
        loop {
            args.push(self.expr()?);
            if self.eat(Kind::Comma).is_none() {
                break;
            }
        }
        self.expect(Kind::RParen)?;
        Ok(args)
    }

    fn call_or_macro(&mut self, id: u32, function: String, target: Option<Expr>, args: Vec<Expr>) -> Expr {
        match macros::expand(self, id, &function, target, args) {
            Expansion::Expanded(expr) => expr,
            Expansion::Failed { offset, message } => {
                self.report(offset, message);
                self.placeholder(offset)
            }
            Expansion::NotAMacro(target, args) => Expr {
                id,
                kind: ExprKind::Call {
                    target: target.map(Box::new),
                    function,
                    args,
                },
            },
        }
    }

    fn primary(&mut self) -> Parsed<Expr> {
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
        let reserved = RESERVED.contains(&word.as_str());
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

pub(crate) fn call(id: u32, function: &str, args: Vec<Expr>) -> Expr {
    Expr {
        id,
        kind: ExprKind::Call {
            target: None,
            function: function.to_owned(),
            args,
        },
    }
}
